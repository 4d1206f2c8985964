#ifndef FOREBAY_CUDA_DRIVER_H_
#define FOREBAY_CUDA_DRIVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cuda/gpu.h"

namespace forebay::cuda {

// The number of processes that may have a context on a GPU at once: any number,
// one, or none.
enum class ComputeMode { kShared, kExclusive, kProhibited };

// A GPU, as its driver describes it.
struct DeviceInfo {
  // CUDA's number of the GPU in this process. Another process may see other
  // GPUs, or the same GPUs in another order. The UUID is the same in all
  // processes.
  int ordinal = 0;
  // UUID in groups of 8-4-4-4-12 hexadecimal digits, without "GPU-".
  std::string uuid;
  // Product name: "NVIDIA H100 80GB HBM3".
  std::string name;
  // Bytes of all memory, used or not.
  std::uint64_t memory_bytes = 0;
  // Compute capability, 9.0 for example.
  int compute_major = 0;
  int compute_minor = 0;
  // Address in lower case: "0000:65:00.0".
  std::string pci_address;
  // Nearest NUMA node; -1 if unknown.
  int numa_node = -1;
  ComputeMode mode = ComputeMode::kShared;
  // Whether MPS serves this process on the GPU.
  bool mps = false;
};

// The GPUs of a host, and its driver.
struct Inventory {
  // GPUs by ordinal, from 0.
  std::vector<DeviceInfo> devices;
  // Reason why `devices` is empty, in words that can follow "no GPU: ". Empty
  // if there are GPUs.
  std::string absence;
  // Version of the driver: "580.65.06"; empty if unknown.
  std::string driver_version;
  // Newest version of CUDA that the driver supports: "13.0".
  std::string cuda_version;
};

// The GPU driver of this host: it lists the host's GPUs and opens them. On a
// host without a GPU, a driver or a plug-in, the inventory is empty; this is
// not an error.
//
// Thread-safe. The caller owns the driver, and destroys it after the GPUs that
// it has opened. inventory() never changes and does not block. Open blocks
// while the GPU's context is made, which takes tenths of a second.
//
// Errors of Open: NOT_FOUND (there is no such GPU); UNAVAILABLE (another
// process has the GPU for itself); RESOURCE_EXHAUSTED (the GPU's memory is
// full); INTERNAL (the driver failed); DATA_LOSS (the GPU is lost to this
// process).
class Driver {
 public:
  virtual ~Driver() = default;

  // Returns the GPUs as they were when the driver was opened.
  virtual const Inventory& inventory() const = 0;
  // Opens a GPU, whose context takes GPU memory until the result is destroyed.
  virtual absl::StatusOr<std::unique_ptr<Gpu>> Open(int ordinal) = 0;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_DRIVER_H_
