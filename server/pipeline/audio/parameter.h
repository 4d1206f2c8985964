#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_PARAMETER_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_PARAMETER_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace forebay::pipeline::audio {

inline constexpr std::uint32_t kMaxRate = 1 << 24;  // Hz, and other lengths

// INVALID_ARGUMENT: a parameter is not `min` to `max`; NaN is not.
template <typename Number>
absl::Status CheckParameter(Number value, Number min, Number max,
                            std::string_view name) {
  if (value >= min && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(absl::string_view(name.data(), name.size()), " is ", value,
                   ", not ", min, " to ", max));
}

// INVALID_ARGUMENT: an enumeration has a value that is none of its own.
inline absl::Status UnknownValue(std::string_view name, int value) {
  return absl::InvalidArgumentError(
      absl::StrCat(absl::string_view(name.data(), name.size()), " is ", value,
                   ", which this daemon does not know"));
}

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_PARAMETER_H_
