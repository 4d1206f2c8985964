#include "cuda/device_notes.h"

#include <utility>

#include "absl/strings/match.h"

namespace forebay::cuda {
namespace {

// Oldest compute capability that the kernels are built for.
constexpr std::pair kOldest(7, 5);

}  // namespace

std::vector<std::string> NotesOn(const DeviceInfo& device) {
  std::vector<std::string> notes;
  if (device.mode == ComputeMode::kProhibited) {
    notes.push_back("No process can use it: its compute mode is prohibited.");
  }
  if (device.mode == ComputeMode::kExclusive && !device.mps) {
    notes.push_back(
        "One process at a time can use it (exclusive compute mode). That is "
        "the trainer, which copies each batch from the host. MPS would serve "
        "both.");
  }
  if (device.mps) {
    // docs.nvidia.com/deploy/mps: "Memory Protection and Error Containment".
    notes.push_back(
        "MPS serves it: a fatal fault of one process can end the work of "
        "others.");
  }
  // Only the GPU's name tells that it is a MIG instance: "NVIDIA A100-SXM4-40GB
  // MIG 1g.5gb".
  if (absl::StrContains(device.name, " MIG ")) {
    notes.push_back(
        "It is an instance of a GPU (MIG). Trainers on other instances copy "
        "each batch from the host.");
  }
  if (std::pair(device.compute_major, device.compute_minor) < kOldest) {
    notes.push_back(
        "It is older than the kernels, which need compute capability 7.5: "
        "batches are finished on the CPU and copied in their final type.");
  }
  return notes;
}

}  // namespace forebay::cuda
