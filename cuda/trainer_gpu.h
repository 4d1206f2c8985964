#ifndef FOREBAY_CUDA_TRAINER_GPU_H_
#define FOREBAY_CUDA_TRAINER_GPU_H_

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "cuda/driver_api.h"
#include "cuda/plugin_abi.h"

namespace forebay::cuda {

// The plug-in's side of PluginTrainerCalls: this process's primary context on a
// GPU, the kernels there, and two streams. One stream, `stream_`, makes the
// calls that CallAfter queues. The other, `own_stream_`, is for the client
// library.
//
// Thread-safe. One object serves all callers that open the same GPU. The object
// lives until the process ends: calls may be pending, and unloading kernels
// would wait for the GPU. Open, Import, Unimport, Allocate and Free block for
// the driver. AwaitEvent and AwaitAll block for the GPU. Functions that queue
// work may block for room in a stream. Poll waits while a queued call runs.
// Errors: a result, and the driver's words in `why`. PluginTrainerCalls has
// each function's contract.
class TrainerGpu {
 public:
  // Returns the object of the GPU `ordinal`. The first call for a GPU makes the
  // object, and so does the first call after a loss. If the driver does not
  // tell whether the GPU is lost, returns Poll's error; ask again.
  static PluginResult Open(const DriverApi& api, std::int32_t ordinal,
                           TrainerGpu** out, std::string* why);
  TrainerGpu(const TrainerGpu&) = delete;
  TrainerGpu& operator=(const TrainerGpu&) = delete;

  // Whether RunTail works on this GPU.
  bool has_tail() const { return tail_ != nullptr; }
  // Maps and unmaps memory that the daemon has exported.
  PluginResult Import(std::int32_t fd, std::uint64_t bytes,
                      std::uint64_t* address, std::string* why);
  void Unimport(std::uint64_t address, std::uint64_t bytes);
  // Queues work on a stream: the kernel, a copy or a call.
  PluginResult RunTail(CUstream stream, const PluginTail& tail,
                       std::uint64_t from, std::uint64_t to,
                       std::uint64_t images, std::uint64_t image_pixels,
                       std::string* why);
  PluginResult Copy(CUstream stream, std::uint64_t from, std::uint64_t to,
                    std::uint64_t bytes, std::string* why);
  PluginResult CallAfter(CUstream stream, void (*call)(void*), void* argument,
                         std::string* why);
  // Returns whether the GPU is lost. Once it is lost, no call that CallAfter
  // queued runs any more.
  PluginResult Poll(std::string* why);
  // Sets `captures` to whether work queued on `stream` now would be captured,
  // or would invalidate a capture.
  PluginResult IsCapturing(CUstream stream, bool* captures, std::string* why);

  // Allocates and frees GPU memory that only this process uses.
  PluginResult Allocate(std::uint64_t bytes, std::uint64_t* address,
                        std::string* why);
  void Free(std::uint64_t address);
  // Queues a copy from host memory to the GPU.
  PluginResult Upload(CUstream stream, const void* from, std::uint64_t to,
                      std::uint64_t bytes, std::string* why);
  CUstream own_stream() const { return own_stream_; }
  // Makes, destroys, records and queries events.
  PluginResult MakeEvent(CUevent* event, std::string* why);
  void DropEvent(CUevent event);
  PluginResult Record(CUevent event, CUstream stream, std::string* why);
  PluginResult IsReached(CUevent event, bool* reached, std::string* why);
  // Makes a stream wait for an event.
  PluginResult HoldBack(CUstream stream, CUevent event, std::string* why);
  // Blocks until an event is reached, or until the GPU has done all work.
  PluginResult AwaitEvent(CUevent event, std::string* why);
  PluginResult AwaitAll(std::string* why);

 private:
  // While it lives, the calling thread has this object's context, and its
  // driver calls disturb no capture of a stream.
  class Use;
  // A function and its argument that CallAfter has queued.
  struct PendingCall;
  // Deleter of a TrainerGpu whose Prepare failed.
  struct Release;

  TrainerGpu(const DriverApi& api, CUdevice device, CUcontext context)
      : api_(api), device_(device), context_(context) {}
  // Destroys an object whose Prepare failed; other objects are never destroyed.
  ~TrainerGpu();

  // Makes a driver call in the context. If the call fails, `why` begins with
  // `what`.
  template <typename Call>
  PluginResult Do(const char* what, std::string* why, Call call) const;
  // Makes streams and an event, and loads the kernels.
  CUresult Prepare();
  // Loads the kernels; a GPU that cannot run them is not an error.
  CUresult LoadTail();
  // Implements IsCapturing, in the context that the caller has entered.
  CUresult FindCapture(CUstream stream, bool* captures) const;
  // Queues a call, which stream_ makes once the work queued on `stream` is
  // done.
  CUresult Queue(CUstream stream, PendingCall* pending);
  // Makes a pending call, unless the GPU is lost. Runs on a thread of the
  // driver.
  static void CUDA_CB Run(void* pending);

  const DriverApi api_;
  const CUdevice device_;
  const CUcontext context_;
  std::uint64_t granularity_ = 0;
  // The most blocks of a kernel: about as many as the GPU runs at once.
  std::uint32_t most_blocks_ = 0;
  CUmodule module_ = nullptr;
  CUfunction tail_ = nullptr;
  // Reason why tail_ is null.
  std::string tail_absence_;
  // Stream that makes the calls which CallAfter queues.
  CUstream stream_ = nullptr;
  // Stream of the client library.
  CUstream own_stream_ = nullptr;

  std::mutex queue_mutex_;
  // Event that makes stream_ wait for a trainer's stream; guarded by
  // queue_mutex_.
  CUevent reached_ = nullptr;

  // Held while a queued call runs. Once lost_ is set under this mutex, no
  // further call runs.
  std::mutex run_mutex_;
  std::atomic<bool> lost_{false};
  // Reason for the loss; does not change once lost_ is set.
  std::string loss_;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_TRAINER_GPU_H_
