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
inline constexpr std::uint32_t kPluginVersion = 2;
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

// A GPU's memory. The one that asked for it closes the descriptor.
struct PluginMemory {
  std::uint64_t address;  // the GPU's, in the plug-in's context
  std::uint64_t bytes;
  std::int32_t fd;
  std::int32_t reserved;  // 0
};

// A GPU that was opened, known to the plug-in alone.
struct PluginGpu;

enum class PluginResult : std::int32_t {
  kOk = 0,
  kNoMemory = 1,     // of the GPU
  kUnavailable = 2,  // another process has it for itself
  kFailed = 3,       // the call
  kLost = 4,         // the GPU, to this process: each further call fails so
};

// The words for a result other than kOk: one clause that ends with NUL within
// `size` bytes.
struct PluginWords {
  char* text;
  std::size_t size;
};

// As Driver::Open and Gpu's methods say (cuda/device.h, cuda/gpu.h). The caller
// has checked ranges. Thread-safe.
struct PluginGpuCalls {
  PluginResult (*open)(std::int32_t ordinal, PluginGpu** gpu, PluginWords why);
  void (*close)(PluginGpu* gpu);
  PluginResult (*allocate)(PluginGpu* gpu, std::uint64_t bytes,
                           PluginMemory* memory, PluginWords why);
  // All but the descriptor.
  void (*free)(PluginGpu* gpu, const PluginMemory* memory);
  PluginResult (*register_host)(PluginGpu* gpu, void* data, std::uint64_t bytes,
                                PluginWords why);
  PluginResult (*unregister_host)(PluginGpu* gpu, void* data, PluginWords why);
  PluginResult (*start_copy)(PluginGpu* gpu, std::uint64_t to, const void* from,
                             std::uint64_t bytes, std::uint64_t* copy,
                             PluginWords why);
  PluginResult (*wait)(PluginGpu* gpu, std::uint64_t copy, PluginWords why);
  PluginResult (*read)(PluginGpu* gpu, std::uint64_t from, void* to,
                       std::uint64_t bytes, PluginWords why);
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

  PluginGpuCalls gpu;  // after describe has succeeded
};

// The type of forebay_cuda_plugin(). Its result is never freed.
using PluginEntry = const Plugin*();

static_assert(std::is_trivial_v<PluginDevice> && sizeof(PluginDevice) == 376);
static_assert(std::is_trivial_v<PluginHost> && sizeof(PluginHost) == 72);
static_assert(std::is_trivial_v<PluginMemory> && sizeof(PluginMemory) == 24);
static_assert(std::is_trivial_v<Plugin> && offsetof(Plugin, version) == 0);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_PLUGIN_ABI_H_
