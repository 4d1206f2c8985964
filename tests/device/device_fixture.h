#ifndef FOREBAY_TESTS_DEVICE_DEVICE_FIXTURE_H_
#define FOREBAY_TESTS_DEVICE_DEVICE_FIXTURE_H_

#include <cuda.h>
#include <dlfcn.h>

#include <cstddef>
#include <string>
#include <vector>

#include "cuda/driver_api.h"
#include "tests/catch/catch.h"

namespace forebay::device_tests {

// Returns the driver under test: the host's, or the fake one beside the test.
const cuda::DriverApi& Api();

// Returns the path of the driver: $FOREBAY_DRIVER_LIBRARY, or the fake driver's
// path if that is not set.
std::string DriverLibrary();

// Returns a function of the driver that Forebay itself does not call.
template <typename Function>
Function* FindInDriver(const char* symbol) {
  void* const library = dlopen(DriverLibrary().c_str(), RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(library, symbol));
}

// Returns the driver's name of a result code, for messages.
std::string NameOf(CUresult result);

#define FOREBAY_CHECK_CUDA(expected, call)       \
  CHECK(::forebay::device_tests::NameOf(call) == \
        ::forebay::device_tests::NameOf(expected))

#define FOREBAY_REQUIRE_CUDA(call)                 \
  REQUIRE(::forebay::device_tests::NameOf(call) == \
          ::forebay::device_tests::NameOf(CUDA_SUCCESS))

// A test in the context of the first GPU.
class DeviceTest {
 protected:
  DeviceTest();
  ~DeviceTest();

  // Returns the properties of memory of the first GPU that a descriptor
  // exports.
  CUmemAllocationProp Exportable() const;
  std::size_t Granularity() const;
  std::size_t FreeMemory() const;
  // Copies bytes to the GPU, and waits.
  void Write(CUdeviceptr address, const std::vector<unsigned char>& bytes);
  std::vector<unsigned char> Read(CUdeviceptr address, std::size_t bytes);

  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
};

// Returns `count` bytes whose values differ from byte to byte.
std::vector<unsigned char> Numbers(std::size_t count, unsigned first = 0);

// A piece of GPU memory that is mapped in this process.
struct MappedMemory {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
};

// Maps a handle's memory at an address of the GPU. TryToMap, unlike Map, can
// also be called outside of a test.
CUresult TryToMap(CUdevice device, CUmemGenericAllocationHandle handle,
                  MappedMemory* memory);
MappedMemory MapMemory(CUdevice device, CUmemGenericAllocationHandle handle,
                       std::size_t bytes);
void Unmap(const MappedMemory& memory);

}  // namespace forebay::device_tests

#endif  // FOREBAY_TESTS_DEVICE_DEVICE_FIXTURE_H_
