// Makes memory that other processes can map, and copies batches to it.
//
// Memory comes from the driver's virtual memory management (cuMemCreate), which
// exports it as a POSIX descriptor. Once the memory is exported and mapped, the
// driver's handle of it is released.
//
// All copies go through one stream, so they end in the order in which they
// start. An event is recorded behind each copy, and Wait blocks until that
// event is reached. Copies with lower numbers are then done as well, and their
// events are dropped. Events are reused: an event returns to `spare_` when its
// last user drops it, under the mutex.

#include "cuda/gpu_context.h"

#include <unistd.h>

#include <utility>

#include "cuda/driver_result.h"
#include "cuda/entered_context.h"
#include "cuda/memory_mapping.h"

namespace forebay::cuda {

PluginResult GpuContext::Open(const DriverApi& api, std::int32_t ordinal,
                              std::unique_ptr<GpuContext>* out,
                              std::string* why) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUresult error = api.device(&device, ordinal);
  if (error == CUDA_SUCCESS) error = api.retain_context(&context, device);
  if (error == CUDA_SUCCESS) {
    out->reset(new GpuContext(api, device, context));
    error = (*out)->Prepare();
  }
  if (error == CUDA_SUCCESS) return PluginResult::kOk;
  out->reset();
  return Explain(api, "the driver gives no context", error, why);
}

CUresult GpuContext::Prepare() {
  const EnteredContext entered(api_, context_);
  if (entered.result() != CUDA_SUCCESS) return entered.result();
  // A context reserves memory for kernels. The daemon runs none, so these
  // limits leave that memory to trainers. A driver raises a limit that is too
  // low to the lowest value that it allows.
  api_.set_limit(CU_LIMIT_STACK_SIZE, 0);
  api_.set_limit(CU_LIMIT_PRINTF_FIFO_SIZE, 0);
  api_.set_limit(CU_LIMIT_MALLOC_HEAP_SIZE, 0);
  const CUresult error = FindGranularity(api_, device_, &granularity_);
  return error == CUDA_SUCCESS
             ? api_.create_stream(&stream_, CU_STREAM_NON_BLOCKING, 0)
             : error;
}

GpuContext::~GpuContext() {
  {
    const EnteredContext entered(api_, context_);
    if (stream_ != nullptr) {
      api_.synchronize_stream(stream_);
      pending_.clear();
      for (CUevent event : spare_) api_.destroy_event(event);
      api_.destroy_stream(stream_);
    }
  }
  api_.release_context(device_);
}

PluginResult GpuContext::Allocate(std::uint64_t bytes, PluginMemory* out,
                                  std::string* why) {
  const EnteredContext entered(api_, context_);
  CUresult error = entered.result();
  if (bytes > kMaxMemory) error = CUDA_ERROR_OUT_OF_MEMORY;
  PluginMemory memory = {};
  memory.fd = -1;
  memory.bytes = RoundUp(bytes, granularity_);
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp properties = Shareable(device_);
  if (error == CUDA_SUCCESS)
    error = api_.create_memory(&handle, memory.bytes, &properties, 0);
  if (error == CUDA_SUCCESS) {
    error = api_.export_memory(&memory.fd, handle,
                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (error == CUDA_SUCCESS) {
      error = MapMemory(api_, device_, handle, memory.bytes,
                        {CU_MEM_ACCESS_FLAGS_PROT_READWRITE}, &memory.address);
    }
    if (error != CUDA_SUCCESS && memory.fd >= 0) close(memory.fd);
    // The descriptor and the mapping keep the memory alive.
    const CUresult released = api_.release_memory(handle);
    if (error == CUDA_SUCCESS && released != CUDA_SUCCESS) {
      error = released;
      Free(memory);
      close(memory.fd);
    }
  }
  if (error == CUDA_SUCCESS) *out = memory;
  return Explain(api_, "a slot's memory on the GPU cannot be made", error, why);
}

void GpuContext::Free(const PluginMemory& memory) {
  const EnteredContext entered(api_, context_);
  UnmapMemory(api_, memory.address, memory.bytes);
}

PluginResult GpuContext::Register(void* data, std::uint64_t bytes,
                                  std::string* why) {
  const EnteredContext entered(api_, context_);
  CUresult error = entered.result();
  // PORTABLE pins the memory for every GPU of the process.
  if (error == CUDA_SUCCESS)
    error = api_.register_host(data, bytes, CU_MEMHOSTREGISTER_PORTABLE);
  return Explain(api_, "memory of the host cannot be pinned", error, why);
}

PluginResult GpuContext::Unregister(void* data, std::string* why) {
  const EnteredContext entered(api_, context_);
  CUresult error = entered.result();
  if (error == CUDA_SUCCESS) error = api_.unregister_host(data);
  return Explain(api_, "memory of the host cannot be unpinned", error, why);
}

CUresult GpuContext::TakeEvent(Event* out) {
  CUevent event = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      event = spare_.back();
      spare_.pop_back();
    }
  }
  if (event == nullptr) {
    const CUresult error = api_.create_event(
        &event, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
    if (error != CUDA_SUCCESS) return error;
  }
  *out = Event(event, [this](CUevent taken) { spare_.push_back(taken); });
  return CUDA_SUCCESS;
}

PluginResult GpuContext::StartCopy(std::uint64_t to, const void* from,
                                   std::uint64_t bytes, std::uint64_t* copy,
                                   std::string* why) {
  const EnteredContext entered(api_, context_);
  CUresult error = entered.result();
  Event event;
  if (error == CUDA_SUCCESS) error = TakeEvent(&event);
  const std::lock_guard lock(mutex_);
  if (error == CUDA_SUCCESS)
    error = api_.copy_to_device(to, from, bytes, stream_);
  if (error == CUDA_SUCCESS) error = api_.record_event(event.get(), stream_);
  if (error == CUDA_SUCCESS) {
    *copy = ++started_;
    pending_[*copy] = std::move(event);
  }
  // The event returns to `spare_`, which the mutex guards.
  event.reset();
  return ExplainCopy(error, why);
}

PluginResult GpuContext::Wait(std::uint64_t copy, std::string* why) {
  const EnteredContext entered(api_, context_);
  CUresult error = entered.result();
  Event event;
  {
    const std::lock_guard lock(mutex_);
    if (copy > started_) {
      *why = "there is no such copy";
      return PluginResult::kFailed;
    }
    const auto found = pending_.find(copy);
    if (found != pending_.end()) event = found->second;
  }
  if (error == CUDA_SUCCESS && event != nullptr)
    error = api_.synchronize_event(event.get());
  const std::lock_guard lock(mutex_);
  if (error == CUDA_SUCCESS)
    pending_.erase(pending_.begin(), pending_.upper_bound(copy));
  // The event returns to `spare_`, which the mutex guards.
  event.reset();
  return ExplainCopy(error, why);
}

PluginResult GpuContext::ExplainCopy(CUresult error, std::string* why) const {
  const PluginResult told =
      Explain(api_, "a copy to the GPU failed", error, why);
  // CUDA_ERROR_UNKNOWN means that the GPU has left the bus. StartCopy may
  // return it as well, if the copy fails before its event is recorded.
  return error == CUDA_ERROR_UNKNOWN ? PluginResult::kLost : told;
}

PluginResult GpuContext::Read(std::uint64_t from, void* to, std::uint64_t bytes,
                              std::string* why) {
  const EnteredContext entered(api_, context_);
  CUresult error = entered.result();
  if (error == CUDA_SUCCESS)
    error = api_.copy_to_host(to, from, bytes, stream_);
  if (error == CUDA_SUCCESS) error = api_.synchronize_stream(stream_);
  return Explain(api_, "a copy from the GPU failed", error, why);
}

}  // namespace forebay::cuda
