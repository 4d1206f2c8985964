#include "tests/device/fake_libcuda/driver.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace forebay::fake_libcuda {

Driver& Driver::Get() {
  static auto* const driver = new Driver;
  return *driver;
}

Driver::Driver() : script_(ReadScript()), space_(script_.granularity) {}

CUresult Driver::Init() {
  const std::optional<FaultScript> fault = TakeFault("cuInit");
  if (fault.has_value()) return fault->error;
  if (script_.gpus.empty()) return CUDA_ERROR_NO_DEVICE;
  const std::lock_guard lock(mutex_);
  if (initialized_in_ == 0) initialized_in_ = getpid();
  return initialized_in_ == getpid() ? CUDA_SUCCESS
                                     : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult Driver::Enter(const char* call) {
  {
    const std::lock_guard lock(mutex_);
    if (initialized_in_ != getpid()) return CUDA_ERROR_NOT_INITIALIZED;
  }
  if (Stream::RunsThis()) return CUDA_ERROR_NOT_PERMITTED;
  const CUresult before = error_.get();
  if (before != CUDA_SUCCESS) return before;
  const std::optional<FaultScript> fault = TakeFault(call);
  if (!fault.has_value()) return CUDA_SUCCESS;
  if (fault->stall) Stream::Stall();
  if (fault->sticky) error_.Set(fault->error);
  return fault->error;
}

std::optional<FaultScript> Driver::TakeFault(std::string_view call) {
  const std::lock_guard lock(mutex_);
  std::optional<FaultScript> taken;
  for (std::size_t i = 0; i < script_.faults.size(); ++i) {
    const FaultScript& fault = script_.faults[i];
    if (fault.call != call ||
        (!fault.once.empty() && access(fault.once.c_str(), F_OK) != 0)) {
      continue;
    }
    const std::uint64_t count =
        ++calls_[std::string(call) + " " + std::to_string(i)];
    if (count >= fault.first &&
        (fault.times == 0 || count - fault.first < fault.times)) {
      taken = fault;
    }
  }
  return taken;
}

CUresult Driver::Suffer(std::string_view operation) {
  const std::optional<FaultScript> fault = TakeFault(operation);
  if (!fault.has_value()) return CUDA_SUCCESS;
  if (fault->stall) Stream::Stall();
  return fault->error;
}

const GpuScript* Driver::FindGpu(CUdevice device) const {
  const bool exists = device >= 0 && device < std::ssize(script_.gpus);
  return exists ? &script_.gpus[device] : nullptr;
}

void Driver::Log(const char* what, const std::string& uuid,
                 std::uint64_t bytes) {
  if (script_.log.empty()) return;
  const std::string line = std::to_string(getpid()) + " " + what + " " + uuid +
                           " " + std::to_string(bytes) + "\n";
  const proto::Fd file(open(script_.log.c_str(),
                            O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  // Writes the line at once, so that lines of several processes do not mix.
  static_cast<void>(write(file.get(), line.data(), line.size()) == 0);
}

std::shared_ptr<Stream> Driver::StartStream() {
  std::uint64_t number;
  {
    const std::lock_guard lock(mutex_);
    number = ++streams_started_;
  }
  return Stream::Start(script_.seed * 1000 + number, script_.delay_micros,
                       error_);
}

CUresult Driver::Retain(CUdevice device, CUcontext* out) {
  const GpuScript* const gpu = FindGpu(device);
  if (gpu == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const bool exclusive = gpu->compute_mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS;
  const std::lock_guard lock(mutex_);
  Primary& primary = primaries_[device];
  if (primary.retained == 0) {
    if (gpu->compute_mode == CU_COMPUTEMODE_PROHIBITED ||
        (exclusive && !script_.mps && HasForeignContext(gpu->uuid))) {
      return CUDA_ERROR_DEVICE_UNAVAILABLE;
    }
    if (BytesAlive(gpu->uuid) + script_.context_bytes > gpu->memory)
      return CUDA_ERROR_OUT_OF_MEMORY;
    auto context = std::make_shared<Context>();
    context->device = device;
    context->gpu = gpu;
    context->cost = GpuMemory::Make(
        {.uuid = gpu->uuid, .kind = "context", .bytes = script_.context_bytes});
    context->default_stream = Stream::Start(
        script_.seed * 1000 + ++streams_started_, script_.delay_micros, error_);
    primary.handle = contexts.Add(std::move(context));
  }
  ++primary.retained;
  *out = primary.handle;
  return CUDA_SUCCESS;
}

CUresult Driver::Release(CUdevice device) {
  if (FindGpu(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard lock(mutex_);
  Primary& primary = primaries_[device];
  if (primary.retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--primary.retained == 0) DestroyLocked(primary);
  return CUDA_SUCCESS;
}

bool Driver::IsActive(CUdevice device) {
  const std::lock_guard lock(mutex_);
  return primaries_[device].retained != 0;
}

void Driver::DestroyLocked(Primary& primary) {
  const std::shared_ptr<Context> context = contexts.Remove(primary.handle);
  context->is_destroyed = true;
  context->default_stream->Destroy();
  for (const auto& stream : streams.All()) {
    if (stream->context == context) stream->queue->Destroy();
  }
  context->cost.reset();
  space_.UnregisterAll();
}

std::shared_ptr<Context> Driver::Current() const {
  const std::vector<CUcontext>& stack = ThreadContexts();
  return stack.empty() ? nullptr : contexts.Find(stack.back());
}

CUresult Driver::FindStream(CUstream handle,
                            std::shared_ptr<StreamObject>* out) {
  const std::shared_ptr<Context> context = Current();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (handle == nullptr || handle == CU_STREAM_LEGACY ||
      handle == CU_STREAM_PER_THREAD) {
    *out = std::make_shared<StreamObject>();
    (*out)->context = context;
    (*out)->queue = context->default_stream;
    return CUDA_SUCCESS;
  }
  *out = streams.Find(handle);
  if (*out == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if ((*out)->context->is_destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return (*out)->context == context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult Driver::CheckCapture() {
  if (ThreadCaptureMode() == CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  for (const auto& stream : streams.All()) {
    if (!stream->captures_globally) continue;
    stream->capture_is_spoilt = true;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

CUresult Driver::AwaitContext(const std::shared_ptr<Context>& context) {
  CUresult result =
      context->default_stream->Wait(context->default_stream->queued());
  for (const auto& stream : streams.All()) {
    if (stream->context == context && result == CUDA_SUCCESS)
      result = stream->queue->Wait(stream->queue->queued());
  }
  return result;
}

std::vector<CUcontext>& ThreadContexts() {
  static thread_local std::vector<CUcontext> contexts;
  return contexts;
}

CUstreamCaptureMode& ThreadCaptureMode() {
  static thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

}  // namespace forebay::fake_libcuda
