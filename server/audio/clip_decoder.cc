#include "server/audio/clip_decoder.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace forebay::audio {
namespace {

constexpr std::int64_t kMostFrames = std::int64_t{1} << 40;
// The most channels of a clip, as in libsndfile.
constexpr std::int64_t kMostChannels = 1024;
// Highest sample rate in Hz.
constexpr std::int64_t kHighestRate = 1 << 24;

}  // namespace

absl::Status CheckClip(std::string_view format, std::int64_t frames,
                       std::int64_t channels, std::int64_t sample_rate) {
  if (frames >= 0 && frames <= kMostFrames && channels > 0 &&
      channels <= kMostChannels && sample_rate > 0 &&
      sample_rate <= kHighestRate) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      "is a ", std::string(format),
      " file with a damaged header: it speaks of ", frames, " frames of ",
      channels, " channels at ", sample_rate, " Hz"));
}

}  // namespace forebay::audio
