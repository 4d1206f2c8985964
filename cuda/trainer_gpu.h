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
// GPU, the kernels there, and two streams of its own. On one, calls wait for
// what the trainer's streams have queued; the other is the client's.
//
// Thread-safe. One object serves all that open a GPU, and lives until the
// process ends: calls may be pending, and a driver that unloads kernels waits
// for the GPU. Open, Import, Unimport, Allocate and Free block for the driver,
// AwaitEvent and AwaitAll for the GPU; what queues may block for room in a
// stream; Poll waits for a call that runs. Errors: a result, and the driver's
// words in `why`.
class TrainerGpu {
 public:
  static PluginResult Open(const DriverApi& api, std::int32_t ordinal,
                           TrainerGpu** out, std::string* why);
  TrainerGpu(const TrainerGpu&) = delete;
  TrainerGpu& operator=(const TrainerGpu&) = delete;

  bool has_tail() const { return tail_ != nullptr; }
  PluginResult Import(std::int32_t fd, std::uint64_t bytes,
                      std::uint64_t* address, std::string* why);
  void Unimport(std::uint64_t address, std::uint64_t bytes);
  PluginResult RunTail(CUstream stream, const PluginTail& tail,
                       std::uint64_t from, std::uint64_t to,
                       std::uint64_t images, std::uint64_t image_pixels,
                       std::string* why);
  PluginResult Copy(CUstream stream, std::uint64_t from, std::uint64_t to,
                    std::uint64_t bytes, std::string* why);
  PluginResult CallAfter(CUstream stream, void (*call)(void*), void* argument,
                         std::string* why);
  PluginResult Poll(std::string* why);
  PluginResult IsCapturing(CUstream stream, bool* captures, std::string* why);

  PluginResult Allocate(std::uint64_t bytes, std::uint64_t* address,
                        std::string* why);
  void Free(std::uint64_t address);
  PluginResult Upload(CUstream stream, const void* from, std::uint64_t to,
                      std::uint64_t bytes, std::string* why);
  CUstream own_stream() const { return own_stream_; }
  PluginResult MakeEvent(CUevent* event, std::string* why);
  void DropEvent(CUevent event);
  PluginResult Record(CUevent event, CUstream stream, std::string* why);
  PluginResult IsReached(CUevent event, bool* reached, std::string* why);
  PluginResult HoldBack(CUstream stream, CUevent event, std::string* why);
  PluginResult AwaitEvent(CUevent event, std::string* why);
  PluginResult AwaitAll(std::string* why);

 private:
  class Use;
  struct PendingCall;
  struct Release;

  TrainerGpu(const DriverApi& api, CUdevice device, CUcontext context)
      : api_(api), device_(device), context_(context) {}
  // Of one that could not be prepared.
  ~TrainerGpu();

  // Makes a call of the driver's in the context; `what` tells of its failure.
  template <typename Call>
  PluginResult Do(const char* what, std::string* why, Call call) const;
  CUresult Prepare();
  CUresult LoadTail();
  CUresult FindCapture(CUstream stream, bool* captures) const;
  CUresult Queue(CUstream stream, PendingCall* pending);
  static void CUDA_CB Run(void* pending);

  const DriverApi api_;
  const CUdevice device_;
  const CUcontext context_;
  std::uint64_t granularity_ = 0;
  std::uint32_t most_blocks_ = 0;  // of a kernel: what the GPU runs at once
  CUmodule module_ = nullptr;
  CUfunction tail_ = nullptr;
  std::string tail_absence_;   // why tail_ is null
  CUstream stream_ = nullptr;  // of calls
  CUstream own_stream_ = nullptr;

  std::mutex queue_mutex_;
  CUevent reached_ = nullptr;  // guarded by queue_mutex_

  // Held while a call runs; set under it, lost_ lets no further call run.
  std::mutex run_mutex_;
  std::atomic<bool> lost_{false};
  std::string loss_;  // why; does not change once lost_ is set
};

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_TRAINER_GPU_H_
