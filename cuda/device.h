#ifndef FOREBAY_CUDA_DEVICE_H_
#define FOREBAY_CUDA_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cuda/gpu.h"

namespace forebay::cuda {

// How many processes may have a context on a GPU at once.
enum class ComputeMode { kShared, kExclusive, kProhibited };

// One GPU, as its driver describes it.
struct DeviceInfo {
  // CUDA's number of it in this process: another process may see other GPUs, or
  // these in another order. The UUID means the same GPU to all.
  int ordinal = 0;
  std::string uuid;                // 8-4-4-4-12 hexadecimal digits, no "GPU-"
  std::string name;                // "NVIDIA H100 80GB HBM3"
  std::uint64_t memory_bytes = 0;  // all there is, used or not
  int compute_major = 0;           // compute capability, 9.0 for example
  int compute_minor = 0;
  std::string pci_address;  // "0000:65:00.0", lower case
  int numa_node = -1;       // the nearest; -1: unknown
  ComputeMode mode = ComputeMode::kShared;
  bool mps = false;  // MPS serves this process there
};

// The GPUs of a host.
struct Inventory {
  std::vector<DeviceInfo> devices;  // by ordinal, from 0
  // Why there are none, in words that can follow "no GPU: ". Empty when there
  // are some.
  std::string absence;
  std::string driver_version;  // "580.65.06"; empty: unknown
  std::string cuda_version;    // the newest that the driver serves: "13.0"
};

// The way to the host's GPUs. That there is no GPU, no driver or no support for
// them is an inventory like any other, not an error.
//
// Thread-safe. The caller owns it; it outlives the GPUs that it has opened.
// inventory() is as it was when the driver was opened, lives as long as the
// driver, and does not block. Open blocks for the GPU: a context takes tenths
// of a second. Errors of Open: NOT_FOUND (no such GPU), UNAVAILABLE (another
// process has it for itself), RESOURCE_EXHAUSTED (its memory is spent),
// INTERNAL (the driver's), DATA_LOSS (it is lost to this process).
class Driver {
 public:
  virtual ~Driver() = default;

  virtual const Inventory& inventory() const = 0;
  // Takes memory of the GPU for a context, until the result is destroyed.
  virtual absl::StatusOr<std::unique_ptr<Gpu>> Open(int ordinal) = 0;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_DEVICE_H_
