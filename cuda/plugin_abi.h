#ifndef FOREBAY_CUDA_PLUGIN_ABI_H_
#define FOREBAY_CUDA_PLUGIN_ABI_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

// The interface of libforebay_cuda.so, and of the daemon and the client library
// that load it: plain data and one entry point in C. Neither side allocates for
// the other or throws, so that each may have a C++ library of its own.
namespace forebay::cuda {

// Goes up with every change of what stands below.
inline constexpr std::uint32_t kPluginVersion = 3;
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
  std::int32_t compute_mode;  // a CUcomputemode
  std::int32_t mps;           // 1: MPS serves this process there
  std::int32_t reserved;      // 0
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

// A GPU that a trainer uses, known to the plug-in alone.
struct PluginTrainerGpu;

// How uint8 images become a trainer's elements: see cuda/kernels/tail.h.
struct PluginTail {
  std::uint32_t element_bytes;   // 1, 2 or 4
  std::uint32_t planar;          // 1: (images, colors, pixels); 0: colors last
  std::uint32_t colors;          // 1 or 3
  std::uint32_t reserved;        // 0
  std::uint32_t table[3 * 256];  // the element of each color's value
};

// A trainer's use of memory that the daemon has exported, and of memory of its
// own. `stream` is a CUstream in the device's primary context, which is the one
// of PyTorch; null: the legacy default stream. Work is queued there, and no
// call waits for it, unless it says so; one that queues may wait for room in
// the stream. `event` is a CUevent.
//
// Thread-safe; not for a forked child. No call but await_all disturbs a global
// capture by another thread. The caller holds no lock while it calls `poll`
// that a `call` of its own takes.
struct PluginTrainerCalls {
  // Retains the primary context of CUDA's device `ordinal` of this process, and
  // loads the kernels there. Blocks for the driver. Context and kernels stay
  // until the process ends; the plug-in stays loaded as long.
  PluginResult (*open)(std::int32_t ordinal, PluginTrainerGpu** gpu,
                       PluginWords why);
  // Queued calls come nevertheless.
  void (*close)(PluginTrainerGpu* gpu);
  // 0: the GPU is older than the kernels, or the driver cannot load them.
  std::int32_t (*has_tail)(const PluginTrainerGpu* gpu);
  // Maps the memory behind a descriptor, which stays the caller's: for reading
  // only, if the driver can do that. Blocks for the driver.
  PluginResult (*import_memory)(PluginTrainerGpu* gpu, std::int32_t fd,
                                std::uint64_t bytes, std::uint64_t* address,
                                PluginWords why);
  // Nothing that is queued uses the memory any more.
  void (*unimport)(PluginTrainerGpu* gpu, std::uint64_t address,
                   std::uint64_t bytes);
  // Makes elements at `to`, aligned to 16 bytes, of pixels at `from`, aligned
  // to 4.
  PluginResult (*run_tail)(PluginTrainerGpu* gpu, void* stream,
                           const PluginTail* tail, std::uint64_t from,
                           std::uint64_t to, std::uint64_t images,
                           std::uint64_t image_pixels, PluginWords why);
  PluginResult (*copy)(PluginTrainerGpu* gpu, void* stream, std::uint64_t from,
                       std::uint64_t to, std::uint64_t bytes, PluginWords why);
  // Calls `call(argument)` once, from a thread of the driver's, after all that
  // `stream` has queued: the stream itself does not wait for it. `call` neither
  // uses CUDA nor this table. Not kOk: it is never called.
  PluginResult (*call_after)(PluginTrainerGpu* gpu, void* stream,
                             void (*call)(void*), void* argument,
                             PluginWords why);
  // kLost: the context is lost to an error. Whatever call_after has queued and
  // was not called yet is never called: the caller does now what those should
  // have done. kFailed: the driver does not tell; ask again.
  PluginResult (*poll)(PluginTrainerGpu* gpu, PluginWords why);
  // 1: what is queued now would become part of a CUDA graph, or spoil one.
  PluginResult (*is_capturing)(PluginTrainerGpu* gpu, void* stream,
                               std::int32_t* captures, PluginWords why);

  // Memory of the process's own, aligned to 256 bytes; and its end, once
  // nothing that is queued uses it. Both may wait for all that is queued.
  PluginResult (*allocate)(PluginTrainerGpu* gpu, std::uint64_t bytes,
                           std::uint64_t* address, PluginWords why);
  void (*free)(PluginTrainerGpu* gpu, std::uint64_t address);
  // Copies memory of the host, which stays as it is until that is done.
  PluginResult (*upload)(PluginTrainerGpu* gpu, void* stream, const void* from,
                         std::uint64_t to, std::uint64_t bytes,
                         PluginWords why);
  // A stream that is there until the process ends, and does not wait for the
  // legacy default stream.
  void* (*own_stream)(const PluginTrainerGpu* gpu);
  // An event is reached when a stream has done all that it had queued when it
  // was recorded; one that never was is reached. To record it on a stream that
  // is captured fails.
  PluginResult (*make_event)(PluginTrainerGpu* gpu, void** event,
                             PluginWords why);
  void (*drop_event)(PluginTrainerGpu* gpu, void* event);
  PluginResult (*record)(PluginTrainerGpu* gpu, void* event, void* stream,
                         PluginWords why);
  PluginResult (*is_reached)(PluginTrainerGpu* gpu, void* event,
                             std::int32_t* reached, PluginWords why);
  // Has a stream that is not captured go on only once the event is reached.
  PluginResult (*hold_back)(PluginTrainerGpu* gpu, void* stream, void* event,
                            PluginWords why);
  // Waits until an event is reached.
  PluginResult (*await_event)(PluginTrainerGpu* gpu, void* event,
                              PluginWords why);
  // Waits until the GPU has done all that this process has queued. Fails while
  // a stream is captured, and ends the capture.
  PluginResult (*await_all)(PluginTrainerGpu* gpu, PluginWords why);
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

  // After describe has succeeded.
  PluginGpuCalls gpu;          // the daemon's half
  PluginTrainerCalls trainer;  // the client library's
};

// The type of forebay_cuda_plugin(). Its result is never freed.
using PluginEntry = const Plugin*();

static_assert(std::is_trivial_v<PluginDevice> && sizeof(PluginDevice) == 384);
static_assert(std::is_trivial_v<PluginHost> && sizeof(PluginHost) == 72);
static_assert(std::is_trivial_v<PluginMemory> && sizeof(PluginMemory) == 24);
static_assert(std::is_trivial_v<PluginTail> && sizeof(PluginTail) == 3088);
static_assert(std::is_trivial_v<Plugin> && offsetof(Plugin, version) == 0);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_PLUGIN_ABI_H_
