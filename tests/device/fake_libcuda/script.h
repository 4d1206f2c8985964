#ifndef FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_SCRIPT_H_
#define FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_SCRIPT_H_

#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

namespace forebay::fake_libcuda {

// A GPU of the host.
struct GpuScript {
  std::string uuid;  // 8-4-4-4-12 hexadecimal digits
  std::string name = "Fake GPU";
  std::uint64_t memory = std::uint64_t{4} << 30;  // bytes
  int major = 8;
  int minor = 0;
  int compute_mode = CU_COMPUTEMODE_DEFAULT;
  std::string pci_address;
};

// A failure of a driver function, or of an operation of a stream. The
// operations are "copy", "copy back", "copy within", "kernel" and "host
// function".
struct FaultScript {
  std::string call;
  std::uint64_t first = 1;  // number of the first call that fails, from 1
  std::uint64_t times = 1;  // number of failing calls; 0: all later ones
  CUresult error = CUDA_ERROR_UNKNOWN;
  // Every later call of the process fails with this error, too.
  bool sticky = false;
  bool stall = false;  // the call does not fail, but never ends
  // Unless empty, the fault and the counts above begin only when this file
  // exists.
  std::string once;
};

// The settings of the fake driver. $FOREBAY_FAKE_CUDA is the path of a JSON
// file with these names. CUDA_VISIBLE_DEVICES selects GPUs, as for the real
// driver.
struct Script {
  int driver_version = 13000;
  std::vector<GpuScript> gpus;  // the visible GPUs; one by default
  std::uint64_t granularity = std::uint64_t{2} << 20;
  std::uint64_t context_bytes = std::uint64_t{64} << 20;
  bool mps = false;  // several processes may use a GPU in exclusive mode
  std::uint64_t seed = 1;
  std::uint32_t delay_micros = 0;  // the longest pause before each operation
  std::string log;  // each copy and kernel adds a line to this file
  std::vector<FaultScript> faults;
};

// Reads the script. Ends the process with a message if the file is malformed.
// Blocks for file I/O.
Script ReadScript();

}  // namespace forebay::fake_libcuda

#endif  // FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_SCRIPT_H_
