// The driver's functions on contexts.
#include <cuda.h>

#include <cstddef>

#include "tests/device/fake_libcuda/driver.h"

using forebay::fake_libcuda::Call;
using forebay::fake_libcuda::CallInContext;
using forebay::fake_libcuda::Driver;
using forebay::fake_libcuda::ThreadContexts;

extern "C" {

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return Call("cuDevicePrimaryCtxRetain",
              [&](Driver& driver) { return driver.Retain(device, context); });
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device) {
  return Call("cuDevicePrimaryCtxRelease",
              [&](Driver& driver) { return driver.Release(device); });
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice device,
                                            unsigned int* flags, int* active) {
  return Call("cuDevicePrimaryCtxGetState", [&](Driver& driver) {
    if (driver.FindGpu(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *flags = 0;
    *active = driver.IsActive(device) ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
  return Call("cuCtxSetCurrent", [&](Driver& driver) {
    if (context != nullptr && driver.contexts.Find(context) == nullptr)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (!ThreadContexts().empty()) ThreadContexts().pop_back();
    if (context != nullptr) ThreadContexts().push_back(context);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext context) {
  return Call("cuCtxPushCurrent", [&](Driver& driver) {
    if (driver.contexts.Find(context) == nullptr)
      return CUDA_ERROR_INVALID_CONTEXT;
    ThreadContexts().push_back(context);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext* context) {
  return Call("cuCtxPopCurrent", [&](Driver&) {
    if (ThreadContexts().empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) *context = ThreadContexts().back();
    ThreadContexts().pop_back();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext* context) {
  return Call("cuCtxGetCurrent", [&](Driver&) {
    *context = ThreadContexts().empty() ? nullptr : ThreadContexts().back();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
  return CallInContext("cuCtxGetDevice", [&](Driver&, const auto& context) {
    *device = context->device;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, std::size_t) {
  return CallInContext("cuCtxSetLimit", [&](Driver&, const auto&) {
    return limit >= 0 && limit < CU_LIMIT_MAX ? CUDA_SUCCESS
                                              : CUDA_ERROR_INVALID_VALUE;
  });
}

// Waits for the context's streams. If one of these streams is captured, the
// call fails instead, and spoils that capture.
CUresult CUDAAPI cuCtxSynchronize() {
  return CallInContext(
      "cuCtxSynchronize", [](Driver& driver, const auto& context) {
        CUresult result = driver.CheckCapture();
        for (const auto& stream : driver.streams.All()) {
          if (stream->context != context || !stream->captures) continue;
          stream->capture_is_spoilt = true;
          result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
        return result == CUDA_SUCCESS ? driver.AwaitContext(context) : result;
      });
}

}  // extern "C"
