#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_PARAMETER_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_PARAMETER_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace forebay::pipeline::audio {

// Largest sample rate in Hz, and largest length in samples. float32 can
// represent all integers up to this number.
inline constexpr std::uint32_t kMaxRate = 1 << 24;

// Checks that a parameter is within `min` and `max`; NaN fails the check.
// INVALID_ARGUMENT names the parameter.
template <typename Number>
absl::Status CheckParameter(Number value, Number min, Number max,
                            std::string_view name) {
  if (value >= min && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(absl::string_view(name.data(), name.size()), " is ", value,
                   ", not ", min, " to ", max));
}

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_PARAMETER_H_
