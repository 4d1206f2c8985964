#ifndef FOREBAY_CUDA_ENTERED_CONTEXT_H_
#define FOREBAY_CUDA_ENTERED_CONTEXT_H_

#include <cuda.h>

#include "cuda/driver_api.h"

namespace forebay::cuda {

// Makes `context` the calling thread's current context, as long as this object
// lives. Lives on the stack of one thread. Borrows the API and the context.
// Never blocks. result() is the driver's error.
class EnteredContext {
 public:
  EnteredContext(const DriverApi& api, CUcontext context)
      : api_(api), result_(api_.push_context(context)) {}
  ~EnteredContext() {
    if (result_ == CUDA_SUCCESS) api_.pop_context(nullptr);
  }
  EnteredContext(const EnteredContext&) = delete;
  EnteredContext& operator=(const EnteredContext&) = delete;

  CUresult result() const { return result_; }

 private:
  const DriverApi& api_;
  const CUresult result_;
};

// While this object lives, driver calls of the calling thread do not invalidate
// another thread's global capture of a stream. Lives on the stack of one
// thread. Borrows the API. Never blocks. No errors.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const DriverApi& api)
      : api_(api), result_(api_.exchange_capture_mode(&mode_)) {}
  ~RelaxedCapture() {
    if (result_ == CUDA_SUCCESS) api_.exchange_capture_mode(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const DriverApi& api_;
  // The capture mode that the constructor sets. Afterwards, the thread's
  // earlier mode, which the destructor restores.
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  const CUresult result_;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_ENTERED_CONTEXT_H_
