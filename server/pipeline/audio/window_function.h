#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_WINDOW_FUNCTION_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_WINDOW_FUNCTION_H_

#include <cstdint>
#include <vector>

namespace forebay::pipeline::audio {

// The windows of torch that an STFT may use.
enum class WindowFunction {
  kHann,
  kHamming,
  kBlackman,
  kBartlett,
  kRectangular
};

// Returns the `length` values of torch's periodic window `window`. Pure
// function.
std::vector<float> ValuesOf(WindowFunction window, std::uint32_t length);

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_WINDOW_FUNCTION_H_
