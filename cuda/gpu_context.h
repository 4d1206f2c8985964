#ifndef FOREBAY_CUDA_GPU_CONTEXT_H_
#define FOREBAY_CUDA_GPU_CONTEXT_H_

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/driver_api.h"
#include "cuda/plugin_abi.h"

namespace forebay::cuda {

// The plug-in's side of cuda::Gpu: this process's primary context on a GPU, and
// one stream of copies.
//
// Thread-safe. The caller owns it; it outlives its memory. Open, Allocate,
// Free, the registrations and destruction block for the driver, Wait and Read
// for the GPU. Errors: a result, and the driver's words in `why`.
class GpuContext {
 public:
  static PluginResult Open(const DriverApi& api, std::int32_t ordinal,
                           std::unique_ptr<GpuContext>* out, std::string* why);
  ~GpuContext();
  GpuContext(const GpuContext&) = delete;
  GpuContext& operator=(const GpuContext&) = delete;

  PluginResult Allocate(std::uint64_t bytes, PluginMemory* out,
                        std::string* why);
  // All but the descriptor.
  void Free(const PluginMemory& memory);
  PluginResult Register(void* data, std::uint64_t bytes, std::string* why);
  PluginResult Unregister(void* data, std::string* why);
  PluginResult StartCopy(std::uint64_t to, const void* from,
                         std::uint64_t bytes, std::uint64_t* copy,
                         std::string* why);
  PluginResult Wait(std::uint64_t copy, std::string* why);
  PluginResult Read(std::uint64_t from, void* to, std::uint64_t bytes,
                    std::string* why);

 private:
  // Explains the result of a copy to the GPU.
  PluginResult ExplainCopy(CUresult error, std::string* why) const;

  // Recorded after a copy; goes back to `spare_` with its last user.
  using Event = std::shared_ptr<CUevent_st>;

  GpuContext(const DriverApi& api, CUdevice device, CUcontext context)
      : api_(api), device_(device), context_(context) {}

  CUresult Prepare();
  CUresult TakeEvent(Event* out);

  const DriverApi api_;
  const CUdevice device_;
  const CUcontext context_;
  CUstream stream_ = nullptr;
  std::uint64_t granularity_ = 0;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::uint64_t started_ = 0;
  std::map<std::uint64_t, Event> pending_;  // by the copy's number
  std::vector<CUevent> spare_;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_GPU_CONTEXT_H_
