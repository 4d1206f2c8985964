#ifndef FOREBAY_CUDA_ENTERED_CONTEXT_H_
#define FOREBAY_CUDA_ENTERED_CONTEXT_H_

#include <cuda.h>

#include "cuda/driver_api.h"

namespace forebay::cuda {

// Makes a context the calling thread's, as long as this lives: on the stack,
// with an API and a context that outlive it. Never blocks. result() is the
// driver's.
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

// Lets the calling thread, as long as this lives, make calls that would spoil
// another thread's global capture of a stream. On the stack; never blocks.
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
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // then: before
  const CUresult result_;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_ENTERED_CONTEXT_H_
