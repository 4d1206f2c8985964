// The driver's functions on streams and events, and the operations of streams.
#include <cuda.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/device/fake_libcuda/driver.h"

namespace forebay::fake_libcuda {
namespace {

// The byte that a copy's target holds until the copy is done. Readers that do
// not wait for the copy see it.
constexpr unsigned char kUnordered = 0x5A;

// Queues an operation on a stream of the current context. Drops the operation
// of a captured stream, because a real driver would keep it for a graph.
CUresult Queue(const char* call, CUstream stream, Stream::Operation operation) {
  return Call(call, [&](Driver& driver) {
    std::shared_ptr<StreamObject> object;
    const CUresult found = driver.FindStream(stream, &object);
    if (found != CUDA_SUCCESS || object->captures) return found;
    object->queue->Enqueue(std::move(operation));
    return CUDA_SUCCESS;
  });
}

// Returns a copy of the bytes of pageable memory, because the driver reads such
// memory before its call returns. Returns null if the memory is registered.
std::shared_ptr<std::vector<char>> Staged(const void* source,
                                          std::size_t bytes) {
  if (Driver::Get().space().IsRegistered(source, bytes)) return nullptr;
  const auto* const first = static_cast<const char*>(source);
  return std::make_shared<std::vector<char>>(first, first + bytes);
}

std::string CurrentUuid() {
  const std::shared_ptr<Context> context = Driver::Get().Current();
  return context == nullptr ? "" : context->gpu->uuid;
}

CUresult CopyToGpu(CUdeviceptr target, const void* source, std::size_t bytes,
                   const std::string& uuid) {
  Driver& driver = Driver::Get();
  const Found found = driver.space().Find(target, bytes, uuid, true);
  if (found.data == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
  std::memset(found.data, kUnordered, bytes);
  const CUresult suffered = driver.Suffer("copy");
  if (suffered != CUDA_SUCCESS) return suffered;
  std::memcpy(found.data, source, bytes);
  driver.Log("copy", uuid, bytes);
  return CUDA_SUCCESS;
}

CUresult CopyFromGpu(void* target, CUdeviceptr source, std::size_t bytes,
                     const std::string& uuid) {
  Driver& driver = Driver::Get();
  const Found found = driver.space().Find(source, bytes, uuid, false);
  if (found.data == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
  const CUresult suffered = driver.Suffer("copy back");
  if (suffered != CUDA_SUCCESS) return suffered;
  std::memcpy(target, found.data, bytes);
  driver.Log("copy_back", uuid, bytes);
  return CUDA_SUCCESS;
}

CUresult CopyWithinGpu(CUdeviceptr target, CUdeviceptr source,
                       std::size_t bytes, const std::string& uuid) {
  Driver& driver = Driver::Get();
  const Found from = driver.space().Find(source, bytes, uuid, false);
  const Found to = driver.space().Find(target, bytes, uuid, true);
  if (from.data == nullptr || to.data == nullptr)
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  std::memset(to.data, kUnordered, bytes);
  const CUresult suffered = driver.Suffer("copy within");
  if (suffered != CUDA_SUCCESS) return suffered;
  std::memcpy(to.data, from.data, bytes);
  driver.Log("copy_within", uuid, bytes);
  return CUDA_SUCCESS;
}

CUresult MakeStream(const char* call, CUstream* out) {
  return CallInContext(call, [&](Driver& driver, const auto& context) {
    const CUresult allowed = driver.CheckCapture();
    if (allowed != CUDA_SUCCESS) return allowed;
    auto object = std::make_shared<StreamObject>();
    object->context = context;
    object->queue = driver.StartStream();
    *out = driver.streams.Add(std::move(object));
    return CUDA_SUCCESS;
  });
}

// Calls `act(driver, event)` for an event that has not been destroyed.
template <typename Act>
CUresult OfEvent(const char* call, CUevent handle, Act act) {
  return Call(call, [&](Driver& driver) {
    const std::shared_ptr<EventObject> event = driver.events.Find(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (event->context->is_destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return act(driver, *event);
  });
}

// Returns the stream and the operation that were recorded last. The stream is
// null if nothing was recorded.
std::pair<std::shared_ptr<Stream>, std::uint64_t> Recorded(EventObject& event) {
  const std::lock_guard lock(event.mutex);
  return {event.queue, event.operation};
}

}  // namespace
}  // namespace forebay::fake_libcuda

using forebay::fake_libcuda::Call;
using forebay::fake_libcuda::CallInContext;
using forebay::fake_libcuda::CopyFromGpu;
using forebay::fake_libcuda::CopyToGpu;
using forebay::fake_libcuda::CopyWithinGpu;
using forebay::fake_libcuda::CurrentUuid;
using forebay::fake_libcuda::Driver;
using forebay::fake_libcuda::EventObject;
using forebay::fake_libcuda::MakeStream;
using forebay::fake_libcuda::OfEvent;
using forebay::fake_libcuda::Queue;
using forebay::fake_libcuda::Recorded;
using forebay::fake_libcuda::Staged;
using forebay::fake_libcuda::StreamObject;
using forebay::fake_libcuda::ThreadCaptureMode;

extern "C" {

CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned int) {
  return MakeStream("cuStreamCreate", stream);
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream* stream, unsigned int,
                                            int) {
  return MakeStream("cuStreamCreateWithPriority", stream);
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream) {
  return Call("cuStreamDestroy", [&](Driver& driver) {
    const std::shared_ptr<StreamObject> object = driver.streams.Remove(stream);
    if (object == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    object->queue->Destroy();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamQuery(CUstream stream) {
  return Call("cuStreamQuery", [&](Driver& driver) {
    std::shared_ptr<StreamObject> object;
    CUresult result = driver.FindStream(stream, &object);
    if (result == CUDA_SUCCESS) result = driver.CheckCapture();
    return result == CUDA_SUCCESS
               ? object->queue->Query(object->queue->queued())
               : result;
  });
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream) {
  return Call("cuStreamSynchronize", [&](Driver& driver) {
    std::shared_ptr<StreamObject> object;
    CUresult result = driver.FindStream(stream, &object);
    if (result == CUDA_SUCCESS) result = driver.CheckCapture();
    return result == CUDA_SUCCESS ? object->queue->Wait(object->queue->queued())
                                  : result;
  });
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent handle,
                                   unsigned int) {
  return OfEvent(
      "cuStreamWaitEvent", handle, [&](Driver& driver, EventObject& event) {
        std::shared_ptr<StreamObject> object;
        const CUresult found = driver.FindStream(stream, &object);
        const auto [queue, operation] = Recorded(event);
        if (found != CUDA_SUCCESS || queue == nullptr) return found;
        // NOLINTNEXTLINE(clang-analyzer-core): structured bindings
        object->queue->Enqueue([queue = queue, operation = operation] {
          return queue->Wait(operation);
        });
        return CUDA_SUCCESS;
      });
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream stream,
                                      CUstreamCaptureMode mode) {
  return Call("cuStreamBeginCapture", [&](Driver& driver) {
    const std::shared_ptr<StreamObject> object = driver.streams.Find(stream);
    if (object == nullptr || object->captures.exchange(true))
      return CUDA_ERROR_ILLEGAL_STATE;
    object->capture_is_spoilt = false;
    object->captures_globally = mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return Call("cuStreamEndCapture", [&](Driver& driver) {
    const std::shared_ptr<StreamObject> object = driver.streams.Find(stream);
    if (object == nullptr || !object->captures.exchange(false))
      return CUDA_ERROR_ILLEGAL_STATE;
    object->captures_globally = false;
    *graph = nullptr;
    return object->capture_is_spoilt ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                                     : CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream stream,
                                     CUstreamCaptureStatus* status) {
  return Call("cuStreamIsCapturing", [&](Driver& driver) {
    std::shared_ptr<StreamObject> object;
    const CUresult found = driver.FindStream(stream, &object);
    if (found != CUDA_SUCCESS) return found;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (object->captures) {
      *status = object->capture_is_spoilt ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                          : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    }
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return Call("cuThreadExchangeStreamCaptureMode", [&](Driver&) {
    std::swap(*mode, ThreadCaptureMode());
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned int) {
  return CallInContext("cuEventCreate",
                       [&](Driver& driver, const auto& context) {
                         const CUresult allowed = driver.CheckCapture();
                         if (allowed != CUDA_SUCCESS) return allowed;
                         auto object = std::make_shared<EventObject>();
                         object->context = context;
                         *event = driver.events.Add(std::move(object));
                         return CUDA_SUCCESS;
                       });
}

CUresult CUDAAPI cuEventDestroy(CUevent event) {
  return Call("cuEventDestroy", [&](Driver& driver) {
    return driver.events.Remove(event) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                                  : CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuEventRecord(CUevent handle, CUstream stream) {
  return OfEvent("cuEventRecord", handle,
                 [&](Driver& driver, EventObject& event) {
                   std::shared_ptr<StreamObject> object;
                   const CUresult found = driver.FindStream(stream, &object);
                   if (found != CUDA_SUCCESS) return found;
                   if (event.context != object->context)
                     return CUDA_ERROR_INVALID_HANDLE;
                   const std::lock_guard lock(event.mutex);
                   event.queue = object->queue;
                   event.operation = object->queue->queued();
                   return CUDA_SUCCESS;
                 });
}

CUresult CUDAAPI cuEventQuery(CUevent handle) {
  return OfEvent("cuEventQuery", handle,
                 [&](Driver& driver, EventObject& event) {
                   const CUresult result = driver.CheckCapture();
                   const auto [queue, operation] = Recorded(event);
                   if (result != CUDA_SUCCESS || queue == nullptr)
                     return result;
                   return queue->Query(operation);
                 });
}

CUresult CUDAAPI cuEventSynchronize(CUevent handle) {
  return OfEvent("cuEventSynchronize", handle,
                 [&](Driver& driver, EventObject& event) {
                   const CUresult result = driver.CheckCapture();
                   const auto [queue, operation] = Recorded(event);
                   if (result != CUDA_SUCCESS || queue == nullptr)
                     return result;
                   return queue->Wait(operation);
                 });
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr target, const void* source,
                                   std::size_t bytes, CUstream stream) {
  const auto staged = Staged(source, bytes);
  return Queue("cuMemcpyHtoDAsync", stream, [=, uuid = CurrentUuid()] {
    return CopyToGpu(target, staged == nullptr ? source : staged->data(), bytes,
                     uuid);
  });
}

CUresult CUDAAPI cuMemcpyDtoHAsync(void* target, CUdeviceptr source,
                                   std::size_t bytes, CUstream stream) {
  const bool pinned = Driver::Get().space().IsRegistered(target, bytes);
  const CUresult queued =
      Queue("cuMemcpyDtoHAsync", stream, [=, uuid = CurrentUuid()] {
        return CopyFromGpu(target, source, bytes, uuid);
      });
  return queued != CUDA_SUCCESS || pinned ? queued
                                          : cuStreamSynchronize(stream);
}

CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr target, CUdeviceptr source,
                                   std::size_t bytes, CUstream stream) {
  return Queue("cuMemcpyDtoDAsync", stream, [=, uuid = CurrentUuid()] {
    return CopyWithinGpu(target, source, bytes, uuid);
  });
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream stream, CUhostFn function,
                                  void* argument) {
  return Queue("cuLaunchHostFunc", stream, [=] {
    const CUresult suffered = Driver::Get().Suffer("host function");
    if (suffered == CUDA_SUCCESS) function(argument);
    return suffered;
  });
}

}  // extern "C"
