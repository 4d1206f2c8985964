#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_WINDOW_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_WINDOW_H_

#include <cstdint>
#include <vector>

namespace forebay::pipeline::audio {

enum class Window { kHann, kHamming, kBlackman, kBartlett, kRectangular };

// Returns the `length` values of torch's periodic window of that name. Pure
// function.
std::vector<float> ValuesOf(Window window, std::uint32_t length);

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_WINDOW_H_
