#include "cuda/gpu_context.h"

#include <unistd.h>

#include <utility>

#include "cuda/driver_words.h"

namespace forebay::cuda {
namespace {

// No GPU has as much; a sum with it does not overflow.
constexpr std::uint64_t kMaxMemory = std::uint64_t{1} << 48;

// After these, NVIDIA's driver refuses all that the process asks of its GPUs:
// each stands in cuda.h with "the process must be terminated", or ends the
// context.
bool IsLoss(CUresult error) {
  switch (error) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case CUDA_ERROR_DEINITIALIZED:
      return true;
    default:
      return false;
  }
}

PluginResult ResultOf(CUresult error) {
  if (error == CUDA_SUCCESS) return PluginResult::kOk;
  if (error == CUDA_ERROR_OUT_OF_MEMORY) return PluginResult::kNoMemory;
  if (error == CUDA_ERROR_DEVICE_UNAVAILABLE) return PluginResult::kUnavailable;
  return IsLoss(error) ? PluginResult::kLost : PluginResult::kFailed;
}

CUmemAllocationProp Shareable(CUdevice device) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

}  // namespace

// Makes the context the calling thread's, for a while.
class GpuContext::Entered {
 public:
  explicit Entered(const GpuContext& gpu)
      : api_(gpu.api_), result_(api_.push_context(gpu.context_)) {}
  ~Entered() {
    if (result_ == CUDA_SUCCESS) api_.pop_context(nullptr);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

  CUresult result() const { return result_; }

 private:
  const DriverApi& api_;
  const CUresult result_;
};

PluginResult GpuContext::Tell(const char* what, CUresult error,
                              std::string* why) const {
  if (error != CUDA_SUCCESS)
    *why = std::string(what) + " (" + DriverWords(api_, error) + ")";
  return ResultOf(error);
}

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
  *why = "the driver gives no context (" + DriverWords(api, error) + ")";
  return ResultOf(error);
}

CUresult GpuContext::Prepare() {
  const Entered entered(*this);
  if (entered.result() != CUDA_SUCCESS) return entered.result();
  // The daemon runs no kernels: what a context keeps for them is for others to
  // use. A driver that knows a limit only as a lower bound takes its least.
  api_.set_limit(CU_LIMIT_STACK_SIZE, 0);
  api_.set_limit(CU_LIMIT_PRINTF_FIFO_SIZE, 0);
  api_.set_limit(CU_LIMIT_MALLOC_HEAP_SIZE, 0);
  const CUmemAllocationProp properties = Shareable(device_);
  const CUresult error = api_.granularity(&granularity_, &properties,
                                          CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  return error == CUDA_SUCCESS
             ? api_.create_stream(&stream_, CU_STREAM_NON_BLOCKING, 0)
             : error;
}

GpuContext::~GpuContext() {
  {
    const Entered entered(*this);
    if (stream_ != nullptr) {
      api_.synchronize_stream(stream_);
      pending_.clear();
      for (CUevent event : spare_) api_.destroy_event(event);
      api_.destroy_stream(stream_);
    }
  }
  api_.release_context(device_);
}

CUresult GpuContext::Map(CUmemGenericAllocationHandle handle,
                         PluginMemory* memory) {
  CUdeviceptr address = 0;
  CUresult error = api_.reserve_address(&address, memory->bytes, 0, 0, 0);
  if (error != CUDA_SUCCESS) return error;
  error = api_.map_memory(address, memory->bytes, 0, handle, 0);
  if (error == CUDA_SUCCESS) {
    CUmemAccessDesc access = {};
    access.location = Shareable(device_).location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    error = api_.set_access(address, memory->bytes, &access, 1);
    if (error != CUDA_SUCCESS) api_.unmap_memory(address, memory->bytes);
  }
  if (error != CUDA_SUCCESS) {
    api_.free_address(address, memory->bytes);
    return error;
  }
  memory->address = address;
  return CUDA_SUCCESS;
}

PluginResult GpuContext::Allocate(std::uint64_t bytes, PluginMemory* out,
                                  std::string* why) {
  const Entered entered(*this);
  CUresult error = entered.result();
  if (bytes > kMaxMemory) error = CUDA_ERROR_OUT_OF_MEMORY;
  PluginMemory memory = {};
  memory.fd = -1;
  memory.bytes = (bytes + granularity_ - 1) / granularity_ * granularity_;
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp properties = Shareable(device_);
  if (error == CUDA_SUCCESS)
    error = api_.create_memory(&handle, memory.bytes, &properties, 0);
  if (error == CUDA_SUCCESS) {
    error = api_.export_memory(&memory.fd, handle,
                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (error == CUDA_SUCCESS) error = Map(handle, &memory);
    if (error != CUDA_SUCCESS && memory.fd >= 0) close(memory.fd);
    // The descriptor and the mapping keep it.
    const CUresult released = api_.release_memory(handle);
    if (error == CUDA_SUCCESS && released != CUDA_SUCCESS) {
      error = released;
      Free(memory);
      close(memory.fd);
    }
  }
  if (error == CUDA_SUCCESS) *out = memory;
  return Tell("no memory of the GPU's for a slot", error, why);
}

void GpuContext::Free(const PluginMemory& memory) {
  const Entered entered(*this);
  api_.unmap_memory(memory.address, memory.bytes);
  api_.free_address(memory.address, memory.bytes);
}

PluginResult GpuContext::Register(void* data, std::uint64_t bytes,
                                  std::string* why) {
  const Entered entered(*this);
  CUresult error = entered.result();
  // Portable: for every GPU of the process.
  if (error == CUDA_SUCCESS)
    error = api_.register_host(data, bytes, CU_MEMHOSTREGISTER_PORTABLE);
  return Tell("memory of the host cannot be pinned", error, why);
}

PluginResult GpuContext::Unregister(void* data, std::string* why) {
  const Entered entered(*this);
  CUresult error = entered.result();
  if (error == CUDA_SUCCESS) error = api_.unregister_host(data);
  return Tell("memory of the host cannot be unpinned", error, why);
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
  const Entered entered(*this);
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
  event.reset();  // under the mutex
  return Tell("a copy to the GPU failed", error, why);
}

PluginResult GpuContext::Wait(std::uint64_t copy, std::string* why) {
  const Entered entered(*this);
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
  event.reset();  // under the mutex
  return Tell("a copy to the GPU failed", error, why);
}

PluginResult GpuContext::Read(std::uint64_t from, void* to, std::uint64_t bytes,
                              std::string* why) {
  const Entered entered(*this);
  CUresult error = entered.result();
  if (error == CUDA_SUCCESS)
    error = api_.copy_to_host(to, from, bytes, stream_);
  if (error == CUDA_SUCCESS) error = api_.synchronize_stream(stream_);
  return Tell("a copy from the GPU failed", error, why);
}

}  // namespace forebay::cuda
