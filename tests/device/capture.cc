#include "tests/device/capture.h"

#include <dlfcn.h>

#include "tests/device/device_fixture.h"

namespace forebay::device_tests {
namespace {

// A function of the driver's that Forebay itself does not call.
template <typename Function>
Function* Find(const char* symbol) {
  void* const library = dlopen(DriverLibrary().c_str(), RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(library, symbol));
}

}  // namespace

void BeginCapture(CUstream stream) {
  FOREBAY_REQUIRE_CUDA(Find<decltype(cuStreamBeginCapture)>(
      "cuStreamBeginCapture_v2")(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

void EndCapture(CUstream stream) {
  CUgraph graph = nullptr;
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Find<decltype(cuStreamEndCapture)>(
                                       "cuStreamEndCapture")(stream, &graph));
}

}  // namespace forebay::device_tests
