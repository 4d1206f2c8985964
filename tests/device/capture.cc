#include "tests/device/capture.h"

#include "tests/device/device_fixture.h"

namespace forebay::device_tests {
void BeginCapture(CUstream stream) {
  FOREBAY_REQUIRE_CUDA(FindInDriver<decltype(cuStreamBeginCapture)>(
      "cuStreamBeginCapture_v2")(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

void EndCapture(CUstream stream) {
  CUgraph graph = nullptr;
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, FindInDriver<decltype(cuStreamEndCapture)>(
                                       "cuStreamEndCapture")(stream, &graph));
}

}  // namespace forebay::device_tests
