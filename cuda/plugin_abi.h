#ifndef FOREBAY_CUDA_PLUGIN_ABI_H_
#define FOREBAY_CUDA_PLUGIN_ABI_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

// The interface of the daemon and libforebay_cuda.so: plain data and one entry
// point in C. Neither allocates for the other or throws, so that each may have
// a C++ library of its own.
namespace forebay::cuda {

// Goes up with every change of what stands below.
inline constexpr std::uint32_t kPluginVersion = 1;
inline constexpr char kPluginSymbol[] = "forebay_cuda_plugin";

// Text ends with NUL. For what the fields mean see cuda/device.h.
struct PluginDevice {
  char uuid[64];
  char name[256];
  char pci_address[32];
  std::uint64_t memory_bytes;
  std::int32_t compute_major;
  std::int32_t compute_minor;
  std::int32_t numa_node;
  std::int32_t reserved;  // 0
};

struct PluginHost {
  char driver_version[64];
  std::int32_t cuda_version;  // 1000 * major + 10 * minor, as CUDA has it
  std::int32_t device_count;
};

struct Plugin {
  std::uint32_t version;  // kPluginVersion; first in every version

  // Opens the driver, which stays open until the process ends, and describes
  // the host and its first `capacity` devices, by ordinal. Blocks, for seconds
  // if the driver has to wake the GPUs. Zero: done. Else `why` has the reason,
  // one clause that ends with NUL within `why_size` bytes. Thread-safe.
  std::int32_t (*describe)(PluginHost* host, PluginDevice* devices,
                           std::int32_t capacity, char* why,
                           std::size_t why_size);
};

// The type of forebay_cuda_plugin(). Its result is never freed.
using PluginEntry = const Plugin*();

static_assert(std::is_trivial_v<PluginDevice> && sizeof(PluginDevice) == 376);
static_assert(std::is_trivial_v<PluginHost> && sizeof(PluginHost) == 72);
static_assert(std::is_trivial_v<Plugin> && offsetof(Plugin, version) == 0);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_PLUGIN_ABI_H_
