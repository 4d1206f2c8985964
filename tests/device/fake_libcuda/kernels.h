#ifndef FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_KERNELS_H_
#define FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_KERNELS_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/device/fake_libcuda/address_space.h"

namespace forebay::fake_libcuda {

// A kernel of Forebay, compiled for the CPU from the same header as for the
// GPU. Its argument is one struct.
struct Kernel {
  const char* name;
  std::size_t argument_bytes;
  // Runs the kernel with `threads` threads in all. ILLEGAL_ADDRESS: it would
  // touch memory that is not mapped.
  CUresult (*run)(const std::vector<unsigned char>& argument,
                  std::uint64_t threads, const AddressSpace& space,
                  const std::string& uuid);
};

// Returns a kernel; null if there is no kernel of this name.
const Kernel* FindKernel(std::string_view name);

}  // namespace forebay::fake_libcuda

#endif  // FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_KERNELS_H_
