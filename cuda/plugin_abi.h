#ifndef FOREBAY_CUDA_PLUGIN_ABI_H_
#define FOREBAY_CUDA_PLUGIN_ABI_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

// The interface between libforebay_cuda.so and its callers, the daemon and the
// client library: plain data and one entry point in C. Neither side allocates
// memory for the other or throws exceptions, so each side may use another C++
// library.
namespace forebay::cuda {

// Version of this interface. Each change to this file raises it by one.
inline constexpr std::uint32_t kPluginVersion = 3;
inline constexpr char kPluginSymbol[] = "forebay_cuda_plugin";

// A GPU. The texts end with NUL. DeviceInfo in cuda/driver.h explains the
// fields.
struct PluginDevice {
  char uuid[64];
  char name[256];
  char pci_address[32];
  std::uint64_t memory_bytes;
  std::int32_t compute_major;
  std::int32_t compute_minor;
  std::int32_t numa_node;
  // Value of the enumeration CUcomputemode.
  std::int32_t compute_mode;
  // 1 if MPS serves this process on this GPU, 0 if not.
  std::int32_t mps;
  std::int32_t reserved;  // 0
};

// A host and its driver.
struct PluginHost {
  char driver_version[64];
  // Version of CUDA as 1000 * major + 10 * minor.
  std::int32_t cuda_version;
  std::int32_t device_count;
};

// Memory of a GPU. The caller of `allocate` closes the descriptor.
struct PluginMemory {
  // Address on the GPU, in the plug-in's context.
  std::uint64_t address;
  // Bytes, a multiple of the GPU's granularity.
  std::uint64_t bytes;
  // POSIX descriptor of the memory, for other processes.
  std::int32_t fd;
  std::int32_t reserved;  // 0
};

// A GPU that `open` has opened; only the plug-in knows the type's content.
struct PluginGpu;

// The outcome of a call.
enum class PluginResult : std::int32_t {
  kOk = 0,
  // The GPU's memory is full.
  kNoMemory = 1,
  // Another process has the GPU for itself.
  kUnavailable = 2,
  // The call failed.
  kFailed = 3,
  // The GPU is lost to this process: each further call returns kLost.
  kLost = 4,
};

// Room for the words that explain a result other than kOk. The plug-in writes
// one clause, which ends with NUL within `size` bytes.
struct PluginWords {
  char* text;
  std::size_t size;
};

// The functions that the daemon calls. They implement Driver::Open and the
// methods of Gpu (cuda/driver.h, cuda/gpu.h). The caller has checked ranges.
// Thread-safe.
struct PluginGpuCalls {
  // Opens a GPU: Driver::Open.
  PluginResult (*open)(std::int32_t ordinal, PluginGpu** gpu, PluginWords why);
  // Closes a GPU, once all of its memory is freed.
  void (*close)(PluginGpu* gpu);
  // Makes memory that other processes can import: Gpu::Allocate.
  PluginResult (*allocate)(PluginGpu* gpu, std::uint64_t bytes,
                           PluginMemory* memory, PluginWords why);
  // Frees the memory's address range and mapping, but not its descriptor.
  void (*free)(PluginGpu* gpu, const PluginMemory* memory);
  // Pin and unpin memory of the host: Gpu::Register and Unregister.
  PluginResult (*register_host)(PluginGpu* gpu, void* data, std::uint64_t bytes,
                                PluginWords why);
  PluginResult (*unregister_host)(PluginGpu* gpu, void* data, PluginWords why);
  // Queues a copy to the GPU address `to`, and sets `copy` to the copy's
  // number: Gpu::StartCopy.
  PluginResult (*start_copy)(PluginGpu* gpu, std::uint64_t to, const void* from,
                             std::uint64_t bytes, std::uint64_t* copy,
                             PluginWords why);
  // Waits for a copy: Gpu::Wait.
  PluginResult (*wait)(PluginGpu* gpu, std::uint64_t copy, PluginWords why);
  // Copies to the host after all queued copies, and waits until that is done:
  // Gpu::Read.
  PluginResult (*read)(PluginGpu* gpu, std::uint64_t from, void* to,
                       std::uint64_t bytes, PluginWords why);
};

// A GPU that a trainer uses; only the plug-in knows the type's content.
struct PluginTrainerGpu;

// The table and layout by which uint8 images become a trainer's elements: see
// cuda/kernels/tail_kernel.h.
struct PluginTail {
  // Bytes of an element: 1, 2 or 4.
  std::uint32_t element_bytes;
  // 1 if elements are (images, colors, pixels); 0 if colors come last.
  std::uint32_t planar;
  // Colors of a pixel, 1 or 3.
  std::uint32_t colors;
  std::uint32_t reserved;  // 0
  // table[256 * color + value] is the element that the value becomes, in the
  // low bits.
  std::uint32_t table[3 * 256];
};

// The functions that the client library calls in a trainer, for memory that the
// daemon has exported and for memory of the trainer's own. `stream` is a
// CUstream in the device's primary context, which PyTorch uses as well; null is
// the legacy default stream. `event` is a CUevent. Functions only queue work on
// a stream, and may wait for room there. They do not wait until the work is
// done, unless their comment says so.
//
// Thread-safe; not for a forked child. Only await_all disturbs a global capture
// by another thread. A caller of `poll` must not hold a lock that a function
// queued by call_after takes.
struct PluginTrainerCalls {
  // Retains the primary context of CUDA's device `ordinal` of this process, and
  // loads the kernels there. Blocks for the driver. The context, the kernels
  // and the plug-in stay loaded until the process ends.
  PluginResult (*open)(std::int32_t ordinal, PluginTrainerGpu** gpu,
                       PluginWords why);
  // Ends the caller's use of the GPU. Calls that call_after has queued are
  // still made.
  void (*close)(PluginTrainerGpu* gpu);
  // Returns 1 if run_tail works; 0 if the GPU is older than the kernels, or the
  // driver cannot load them.
  std::int32_t (*has_tail)(const PluginTrainerGpu* gpu);
  // Maps the memory behind `fd`, read-only if the driver can do that. The
  // descriptor stays the caller's. Blocks for the driver.
  PluginResult (*import_memory)(PluginTrainerGpu* gpu, std::int32_t fd,
                                std::uint64_t bytes, std::uint64_t* address,
                                PluginWords why);
  // Unmaps imported memory. No queued work may still use the memory.
  void (*unimport)(PluginTrainerGpu* gpu, std::uint64_t address,
                   std::uint64_t bytes);
  // Queues the kernel that turns the pixels at `from` into elements at `to`.
  // `from` is aligned to 4 bytes, and `to` to 16 bytes.
  PluginResult (*run_tail)(PluginTrainerGpu* gpu, void* stream,
                           const PluginTail* tail, std::uint64_t from,
                           std::uint64_t to, std::uint64_t images,
                           std::uint64_t image_pixels, PluginWords why);
  // Queues a copy from GPU memory to GPU memory.
  PluginResult (*copy)(PluginTrainerGpu* gpu, void* stream, std::uint64_t from,
                       std::uint64_t to, std::uint64_t bytes, PluginWords why);
  // Queues a call of `call(argument)`. A thread of the CUDA driver makes the
  // call once, when all work queued on `stream` so far is done. Later work on
  // `stream` does not wait for the call. `call` must use neither CUDA nor this
  // table. If the result is not kOk, `call` is never called.
  PluginResult (*call_after)(PluginTrainerGpu* gpu, void* stream,
                             void (*call)(void*), void* argument,
                             PluginWords why);
  // Returns whether the GPU is lost. kLost: the context is lost to an error.
  // Calls that call_after queued and that were not made yet are never made; the
  // caller now does the work of these calls itself. kFailed: the driver does
  // not tell whether the GPU is lost; ask again.
  PluginResult (*poll)(PluginTrainerGpu* gpu, PluginWords why);
  // Sets `captures` to 1 if work queued on `stream` now would become part of a
  // CUDA graph, or would invalidate the capture of a graph; to 0 if not.
  PluginResult (*is_capturing)(PluginTrainerGpu* gpu, void* stream,
                               std::int32_t* captures, PluginWords why);

  // Allocate and free GPU memory that only this process uses, aligned to 256
  // bytes. No queued work may still use memory that is freed. Both functions
  // may wait for all queued work.
  PluginResult (*allocate)(PluginTrainerGpu* gpu, std::uint64_t bytes,
                           std::uint64_t* address, PluginWords why);
  void (*free)(PluginTrainerGpu* gpu, std::uint64_t address);
  // Queues a copy from host memory at `from`. The host memory must not change
  // until the copy is done.
  PluginResult (*upload)(PluginTrainerGpu* gpu, void* stream, const void* from,
                         std::uint64_t to, std::uint64_t bytes,
                         PluginWords why);
  // Returns a stream that lives until the process ends, and does not wait for
  // the legacy default stream.
  void* (*own_stream)(const PluginTrainerGpu* gpu);
  // Make, record and query events. An event is reached when its stream has done
  // all work that had been queued when the event was recorded. An event that
  // was never recorded counts as reached. Recording on a stream that is
  // captured fails.
  PluginResult (*make_event)(PluginTrainerGpu* gpu, void** event,
                             PluginWords why);
  void (*drop_event)(PluginTrainerGpu* gpu, void* event);
  PluginResult (*record)(PluginTrainerGpu* gpu, void* event, void* stream,
                         PluginWords why);
  PluginResult (*is_reached)(PluginTrainerGpu* gpu, void* event,
                             std::int32_t* reached, PluginWords why);
  // Makes later work on `stream` wait for the event. The stream must not be
  // captured.
  PluginResult (*hold_back)(PluginTrainerGpu* gpu, void* stream, void* event,
                            PluginWords why);
  // Waits until an event is reached.
  PluginResult (*await_event)(PluginTrainerGpu* gpu, void* event,
                              PluginWords why);
  // Waits until the GPU has done all work that this process has queued. If a
  // stream is being captured, the call fails and ends the capture.
  PluginResult (*await_all)(PluginTrainerGpu* gpu, PluginWords why);
};

// The table that the entry point returns.
struct Plugin {
  // kPluginVersion of the plug-in. This is the first field in every version.
  std::uint32_t version;

  // Opens the driver, which stays open until the process ends. Describes the
  // host, and its first `capacity` devices in the order of their ordinals.
  // Blocks, for seconds if the driver has to initialise the GPUs. Returns 0 on
  // success. After a failure, `why` has the reason: one clause that ends with
  // NUL within `why_size` bytes. Thread-safe.
  std::int32_t (*describe)(PluginHost* host, PluginDevice* devices,
                           std::int32_t capacity, char* why,
                           std::size_t why_size);

  // Functions for the daemon, valid once `describe` has succeeded.
  PluginGpuCalls gpu;
  // Functions for the client library, also valid once `describe` has succeeded.
  PluginTrainerCalls trainer;
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
