#include "cuda/trainer_gpu.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "cuda/driver_result.h"
#include "cuda/driver_words.h"
#include "cuda/entered_context.h"
#include "cuda/kernels/image.h"
#include "cuda/kernels/tail_kernel.h"
#include "cuda/memory_mapping.h"

namespace forebay::cuda {
namespace {

// Number of blocks that a multiprocessor of most GPUs runs at once. Each block
// loads a table, so more blocks would only cost time.
constexpr std::uint32_t kBlocksPerMultiprocessor = 8;

// Returns the number of a tail's elements; 0 if they exceed any GPU's memory.
std::uint64_t ElementCount(const PluginTail& tail, std::uint64_t images,
                           std::uint64_t image_pixels) {
  std::uint64_t count = 0;
  if (__builtin_mul_overflow(images, image_pixels, &count) ||
      __builtin_mul_overflow(count, tail.colors, &count) ||
      count > kMaxMemory / 4) {
    return 0;
  }
  return count;
}

// Checks arguments: a kernel that writes out of bounds ends all GPU use.
bool IsPlausible(const PluginTail& tail, std::uint64_t from, std::uint64_t to) {
  return (tail.element_bytes == 1 || tail.element_bytes == 2 ||
          tail.element_bytes == 4) &&
         (tail.colors == 1 || tail.colors == 3) && from % 4 == 0 &&
         to % 16 == 0;
}

// Returns how many threads of the kernel have something to do.
std::uint64_t UsefulThreads(const PluginTail& tail, std::uint64_t images,
                            std::uint64_t image_pixels) {
  const bool by_four = tail.colors == 1 || image_pixels % 4 == 0;
  const std::uint64_t pixels = images * image_pixels;
  return by_four ? (pixels + 3) / 4 : pixels;
}

}  // namespace

// While it lives, the calling thread has the object's context, and its driver
// calls disturb no other thread's capture of a stream.
class TrainerGpu::Use {
 public:
  explicit Use(const TrainerGpu& gpu)
      : relaxed_(gpu.api_), entered_(gpu.api_, gpu.context_) {}

  CUresult result() const { return entered_.result(); }

 private:
  const RelaxedCapture relaxed_;
  const EnteredContext entered_;
};

template <typename Call>
PluginResult TrainerGpu::Do(const char* what, std::string* why,
                            Call call) const {
  const Use use(*this);
  CUresult error = use.result();
  if (error == CUDA_SUCCESS) error = call();
  return Explain(api_, what, error, why);
}

struct TrainerGpu::PendingCall {
  TrainerGpu* gpu;
  void (*call)(void*);
  void* argument;
};

struct TrainerGpu::Release {
  void operator()(TrainerGpu* gpu) const { delete gpu; }
};

PluginResult TrainerGpu::Open(const DriverApi& api, std::int32_t ordinal,
                              TrainerGpu** out, std::string* why) {
  struct Table {
    std::mutex mutex;
    std::map<std::int32_t, TrainerGpu*> gpus;  // by ordinal; guarded by mutex
  };
  // The table is never destroyed: the driver makes calls during exit.
  static auto* const table = new Table;
  const std::lock_guard lock(table->mutex);
  TrainerGpu*& known = table->gpus[ordinal];
  if (known != nullptr) {
    const PluginResult polled = known->Poll(why);
    if (polled == PluginResult::kOk) *out = known;
    // If the driver does not tell, the GPU may be well: the caller asks again.
    if (polled != PluginResult::kLost) return polled;
  }
  const RelaxedCapture relaxed(api);
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUresult error = api.device(&device, ordinal);
  if (error == CUDA_SUCCESS) error = api.retain_context(&context, device);
  if (error == CUDA_SUCCESS) {
    std::unique_ptr<TrainerGpu, Release> gpu(
        new TrainerGpu(api, device, context));
    error = gpu->Prepare();
    // A lost object is not deleted: earlier callers still use it.
    if (error == CUDA_SUCCESS) *out = known = gpu.release();
  }
  return Explain(api, "the driver gives no context", error, why);
}

CUresult TrainerGpu::Prepare() {
  const Use use(*this);
  int multiprocessors = 0;
  CUresult error = use.result();
  const auto then = [&error](auto function, auto... arguments) {
    if (error == CUDA_SUCCESS) error = function(arguments...);
  };
  then(&FindGranularity, api_, device_, &granularity_);
  then(api_.attribute, &multiprocessors,
       CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device_);
  // Non-blocking streams do not wait for the legacy default stream.
  then(api_.create_stream, &stream_, CU_STREAM_NON_BLOCKING, 0);
  then(api_.create_stream, &own_stream_, CU_STREAM_NON_BLOCKING, 0);
  then(api_.create_event, &reached_, CU_EVENT_DISABLE_TIMING);
  if (error != CUDA_SUCCESS) return error;
  most_blocks_ = kBlocksPerMultiprocessor *
                 static_cast<std::uint32_t>(std::max(multiprocessors, 1));
  return LoadTail();
}

CUresult TrainerGpu::LoadTail() {
  CUresult error = api_.load_module(&module_, kernels::kImage);
  if (error == CUDA_SUCCESS)
    error = api_.function(&tail_, module_, kernels::kTailName);
  if (error == CUDA_SUCCESS) return error;
  const PluginResult result = ResultOf(error);
  if (result == PluginResult::kLost || result == PluginResult::kNoMemory)
    return error;
  // The GPU or the driver is too old: the trainer works without kernels.
  tail_ = nullptr;
  tail_absence_ = DriverWords(api_, error);
  return CUDA_SUCCESS;
}

TrainerGpu::~TrainerGpu() {
  {
    const Use use(*this);
    if (module_ != nullptr) api_.unload_module(module_);
    if (reached_ != nullptr) api_.destroy_event(reached_);
    if (own_stream_ != nullptr) api_.destroy_stream(own_stream_);
    if (stream_ != nullptr) api_.destroy_stream(stream_);
  }
  api_.release_context(device_);
}

PluginResult TrainerGpu::Import(std::int32_t fd, std::uint64_t bytes,
                                std::uint64_t* address, std::string* why) {
  if (fd < 0 || bytes == 0 || bytes >= kMaxMemory) {
    *why = "there is no memory of the daemon's to import";
    return PluginResult::kFailed;
  }
  const Use use(*this);
  const std::uint64_t rounded = RoundUp(bytes, granularity_);
  std::uint64_t mapped = 0;
  CUmemGenericAllocationHandle handle = 0;
  CUresult error = use.result();
  if (error == CUDA_SUCCESS) {
    error =
        api_.import_memory(&handle, reinterpret_cast<void*>(std::intptr_t{fd}),
                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  }
  if (error == CUDA_SUCCESS) {
    // Read-only if possible: other trainers read the same memory.
    error = MapMemory(
        api_, device_, handle, rounded,
        {CU_MEM_ACCESS_FLAGS_PROT_READ, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
        &mapped);
    const CUresult released = api_.release_memory(handle);
    if (error == CUDA_SUCCESS && released != CUDA_SUCCESS) {
      UnmapMemory(api_, mapped, rounded);
      error = released;
    }
  }
  if (error == CUDA_SUCCESS) *address = mapped;
  return Explain(api_, "the daemon's memory of the GPU cannot be imported",
                 error, why);
}

void TrainerGpu::Unimport(std::uint64_t address, std::uint64_t bytes) {
  const Use use(*this);
  UnmapMemory(api_, address, RoundUp(bytes, granularity_));
}

PluginResult TrainerGpu::RunTail(CUstream stream, const PluginTail& tail,
                                 std::uint64_t from, std::uint64_t to,
                                 std::uint64_t images,
                                 std::uint64_t image_pixels, std::string* why) {
  if (tail_ == nullptr) {
    *why = "this GPU cannot run the kernels (" + tail_absence_ + ")";
    return PluginResult::kFailed;
  }
  if (images == 0 || image_pixels == 0) return PluginResult::kOk;
  if (!IsPlausible(tail, from, to) ||
      ElementCount(tail, images, image_pixels) == 0) {
    *why = "no kernel makes such a tensor";
    return PluginResult::kFailed;
  }
  kernels::TailArguments arguments = {};
  arguments.pixels = reinterpret_cast<const std::uint8_t*>(from);
  arguments.elements = reinterpret_cast<void*>(to);
  arguments.images = images;
  arguments.image_pixels = image_pixels;
  arguments.element_bytes = tail.element_bytes;
  arguments.planar = tail.planar;
  arguments.colors = tail.colors;
  static_assert(sizeof(arguments.table) == sizeof(tail.table));
  std::memcpy(arguments.table, tail.table, sizeof(arguments.table));
  void* values[] = {&arguments};
  const std::uint64_t blocks =
      (UsefulThreads(tail, images, image_pixels) + kernels::kTailThreads - 1) /
      kernels::kTailThreads;
  const auto grid =
      static_cast<unsigned>(std::min<std::uint64_t>(blocks, most_blocks_));
  return Do("the GPU takes no kernel", why, [&] {
    return api_.launch(tail_, grid, 1, 1, kernels::kTailThreads, 1, 1, 0,
                       stream, values, nullptr);
  });
}

PluginResult TrainerGpu::Copy(CUstream stream, std::uint64_t from,
                              std::uint64_t to, std::uint64_t bytes,
                              std::string* why) {
  if (bytes == 0) return PluginResult::kOk;
  return Do("a copy within the GPU failed", why,
            [&] { return api_.copy_on_device(to, from, bytes, stream); });
}

CUresult TrainerGpu::FindCapture(CUstream stream, bool* captures) const {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult error = api_.is_capturing(stream, &status);
  // If a stream that waits for the legacy default stream is captured, work on
  // the legacy default stream would end that capture.
  const bool spoils = error == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  *captures = spoils || status != CU_STREAM_CAPTURE_STATUS_NONE;
  return spoils ? CUDA_SUCCESS : error;
}

PluginResult TrainerGpu::IsCapturing(CUstream stream, bool* captures,
                                     std::string* why) {
  return Do("the driver does not know the stream", why,
            [&] { return FindCapture(stream, captures); });
}

PluginResult TrainerGpu::Allocate(std::uint64_t bytes, std::uint64_t* address,
                                  std::string* why) {
  CUdeviceptr made = 0;
  const PluginResult result =
      Do("there is no memory on the GPU for a tensor", why, [&] {
        return bytes > kMaxMemory ? CUDA_ERROR_OUT_OF_MEMORY
                                  : api_.allocate(&made, bytes);
      });
  *address = made;
  return result;
}

void TrainerGpu::Free(std::uint64_t address) {
  const Use use(*this);
  if (use.result() == CUDA_SUCCESS) api_.free(address);
}

PluginResult TrainerGpu::Upload(CUstream stream, const void* from,
                                std::uint64_t to, std::uint64_t bytes,
                                std::string* why) {
  if (bytes == 0) return PluginResult::kOk;
  return Do("a copy to the GPU failed", why,
            [&] { return api_.copy_to_device(to, from, bytes, stream); });
}

PluginResult TrainerGpu::MakeEvent(CUevent* event, std::string* why) {
  return Do("the driver makes no event", why, [&] {
    return api_.create_event(event,
                             CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
  });
}

void TrainerGpu::DropEvent(CUevent event) {
  const Use use(*this);
  if (use.result() == CUDA_SUCCESS) api_.destroy_event(event);
}

PluginResult TrainerGpu::Record(CUevent event, CUstream stream,
                                std::string* why) {
  return Do("the stream takes no event", why, [&] {
    bool captures = false;
    const CUresult error = FindCapture(stream, &captures);
    if (error != CUDA_SUCCESS) return error;
    // While the stream is captured, the event would become part of the graph.
    return captures ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                    : api_.record_event(event, stream);
  });
}

PluginResult TrainerGpu::IsReached(CUevent event, bool* reached,
                                   std::string* why) {
  return Do("the driver does not tell of an event", why, [&] {
    const CUresult error = api_.query_event(event);
    *reached = error == CUDA_SUCCESS;
    return error == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : error;
  });
}

PluginResult TrainerGpu::HoldBack(CUstream stream, CUevent event,
                                  std::string* why) {
  return Do("the stream waits for no event", why,
            [&] { return api_.wait_event(stream, event, 0); });
}

PluginResult TrainerGpu::AwaitEvent(CUevent event, std::string* why) {
  return Do("work on the GPU does not end", why,
            [&] { return api_.synchronize_event(event); });
}

PluginResult TrainerGpu::AwaitAll(std::string* why) {
  return Do("the GPU does not come to rest", why,
            [&] { return api_.synchronize_context(); });
}

PluginResult TrainerGpu::CallAfter(CUstream stream, void (*call)(void*),
                                   void* argument, std::string* why) {
  if (lost_.load(std::memory_order_acquire)) {
    *why = loss_;
    return PluginResult::kLost;
  }
  const Use use(*this);
  bool captures = false;
  CUresult error = use.result();
  if (error == CUDA_SUCCESS) error = FindCapture(stream, &captures);
  if (captures) {
    // The event would make stream_ a part of the graph.
    *why = "a stream that is captured into a CUDA graph calls nobody";
    return PluginResult::kFailed;
  }
  auto pending =
      std::make_unique<PendingCall>(PendingCall{this, call, argument});
  if (error == CUDA_SUCCESS) error = Queue(stream, pending.get());
  // Run frees the pending call. If the context is lost, it is never freed.
  if (error == CUDA_SUCCESS) static_cast<void>(pending.release());
  return Explain(api_, "the GPU takes no call", error, why);
}

CUresult TrainerGpu::Queue(CUstream stream, PendingCall* pending) {
  // A single event is enough for all calls: wait_event waits for the latest
  // record before it. Later records of the event do not matter.
  const std::lock_guard lock(queue_mutex_);
  CUresult error = api_.record_event(reached_, stream);
  if (error == CUDA_SUCCESS) error = api_.wait_event(stream_, reached_, 0);
  if (error == CUDA_SUCCESS)
    error = api_.launch_host_function(stream_, &Run, pending);
  return error;
}

void TrainerGpu::Run(void* pending) {
  const std::unique_ptr<PendingCall> call(static_cast<PendingCall*>(pending));
  const std::lock_guard lock(call->gpu->run_mutex_);
  // NVIDIA's driver makes no calls after an error. But this call may already
  // have begun when Poll found the error.
  if (!call->gpu->lost_) call->call(call->argument);
}

PluginResult TrainerGpu::Poll(std::string* why) {
  CUresult error = CUDA_SUCCESS;
  if (!lost_.load(std::memory_order_acquire)) {
    const Use use(*this);
    error = use.result();
    if (error == CUDA_SUCCESS) error = api_.query_stream(stream_);
    if (error == CUDA_SUCCESS || error == CUDA_ERROR_NOT_READY)
      return PluginResult::kOk;
    std::string reason;
    Explain(api_, "the GPU is lost to this process", error, &reason);
    // INVALID_CONTEXT and INVALID_HANDLE: the context was reset, so the driver
    // does not know stream_ any more. UNKNOWN: the GPU has left the bus.
    if (!IsLoss(error) && error != CUDA_ERROR_INVALID_CONTEXT &&
        error != CUDA_ERROR_INVALID_HANDLE && error != CUDA_ERROR_UNKNOWN) {
      return Explain(api_, "the driver does not tell of the GPU", error, why);
    }
    const std::lock_guard lock(run_mutex_);
    if (!lost_) loss_ = std::move(reason);
    lost_.store(true, std::memory_order_release);
  }
  *why = loss_;
  return PluginResult::kLost;
}

}  // namespace forebay::cuda
