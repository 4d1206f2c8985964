#ifndef FOREBAY_TESTS_DEVICE_CAPTURE_H_
#define FOREBAY_TESTS_DEVICE_CAPTURE_H_

#include <cuda.h>

namespace forebay::device_tests {

// Captures the operations queued in a stream into a CUDA graph, which is thrown
// away. The capture is global, so that calls of other threads can spoil it. The
// test fails if they do.
void BeginCapture(CUstream stream);
void EndCapture(CUstream stream);

}  // namespace forebay::device_tests

#endif  // FOREBAY_TESTS_DEVICE_CAPTURE_H_
