// A plug-in that does what it should, on a host with two GPUs.
#include <cstddef>
#include <cstdint>

#include "cuda/plugin_abi.h"

namespace forebay::cuda {
namespace {

std::int32_t Describe(PluginHost* host, PluginDevice* devices, std::int32_t,
                      char*, std::size_t) {
  *host = {
      .driver_version = "580.65.06", .cuda_version = 13020, .device_count = 2};
  for (int i = 0; i < 2; ++i) {
    devices[i] = {.uuid = "01234567-89ab-cdef-0123-45678901234_",
                  .name = "NVIDIA H100 80GB HBM3",
                  .pci_address = "0000:65:00._",
                  .memory_bytes = std::uint64_t{80} << 30,
                  .compute_major = 9,
                  .compute_minor = 0,
                  .numa_node = i - 1,
                  .compute_mode = 3 * i,
                  .mps = i,
                  .reserved = 0};
    devices[i].uuid[35] = static_cast<char>('0' + i);
    devices[i].pci_address[11] = static_cast<char>('0' + i);
  }
  return 0;
}

constexpr Plugin kPlugin = {
    .version = kPluginVersion, .describe = &Describe, .gpu = {}, .trainer = {}};

}  // namespace
}  // namespace forebay::cuda

extern "C" const forebay::cuda::Plugin* forebay_cuda_plugin() {
  return &forebay::cuda::kPlugin;
}
