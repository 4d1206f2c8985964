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
// Thread-safe. The caller owns the context, and destroys it after the memory
// that Allocate made. Open, Allocate, Free, Register, Unregister and
// destruction block for the driver; Wait and Read block for the GPU. Errors: a
// result, and the driver's words in `why`.
class GpuContext {
 public:
  // Retains the primary context of CUDA's device `ordinal`.
  static PluginResult Open(const DriverApi& api, std::int32_t ordinal,
                           std::unique_ptr<GpuContext>* out, std::string* why);
  ~GpuContext();
  GpuContext(const GpuContext&) = delete;
  GpuContext& operator=(const GpuContext&) = delete;

  // Makes memory that other processes can import, mapped for this GPU.
  PluginResult Allocate(std::uint64_t bytes, PluginMemory* out,
                        std::string* why);
  // Frees the memory's address range and mapping. The caller closes the
  // descriptor.
  void Free(const PluginMemory& memory);
  // Pins memory of the host for every GPU of the process.
  PluginResult Register(void* data, std::uint64_t bytes, std::string* why);
  // Unpins memory that Register has pinned.
  PluginResult Unregister(void* data, std::string* why);
  // Queues a copy from host memory to the GPU address `to`; sets `copy` to the
  // copy's number.
  PluginResult StartCopy(std::uint64_t to, const void* from,
                         std::uint64_t bytes, std::uint64_t* copy,
                         std::string* why);
  // Waits until the copy of that number, and each before it, is done.
  PluginResult Wait(std::uint64_t copy, std::string* why);
  // Copies from the GPU to the host, after all queued copies, and waits until
  // that is done.
  PluginResult Read(std::uint64_t from, void* to, std::uint64_t bytes,
                    std::string* why);

 private:
  // Explains the result of a copy to the GPU.
  PluginResult ExplainCopy(CUresult error, std::string* why) const;

  // An event that was recorded behind a copy. When its last user drops it, the
  // event returns to `spare_`.
  using Event = std::shared_ptr<CUevent_st>;

  GpuContext(const DriverApi& api, CUdevice device, CUcontext context)
      : api_(api), device_(device), context_(context) {}

  // Sets the context's limits, and makes the stream.
  CUresult Prepare();
  // Takes a spare event, or makes one.
  CUresult TakeEvent(Event* out);

  const DriverApi api_;
  const CUdevice device_;
  const CUcontext context_;
  CUstream stream_ = nullptr;
  // Granularity in bytes: each memory size is a multiple of it.
  std::uint64_t granularity_ = 0;

  std::mutex mutex_;
  // Number of the last copy started. mutex_ guards this field and the fields
  // below.
  std::uint64_t started_ = 0;
  // Events of copies that nobody has waited for, by the copy's number.
  std::map<std::uint64_t, Event> pending_;
  std::vector<CUevent> spare_;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_GPU_CONTEXT_H_
