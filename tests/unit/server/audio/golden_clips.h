#ifndef FOREBAY_TESTS_UNIT_SERVER_AUDIO_GOLDEN_CLIPS_H_
#define FOREBAY_TESTS_UNIT_SERVER_AUDIO_GOLDEN_CLIPS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace forebay::audio {

// A file of tests/golden/audio, and what soundfile reads from it.
struct GoldenClip {
  std::string name;
  std::uint64_t frames = 0;
  std::uint32_t channels = 0;
  std::uint32_t sample_rate = 0;
  // CRC-32 of all sample values; nullopt if the format is lossy.
  std::optional<std::uint32_t> crc;
  std::vector<float> values;  // every kGoldenStep-th sample value
};
inline constexpr std::size_t kGoldenStep = 199;

std::vector<GoldenClip> GoldenClips();

// Returns the bytes of a file of tests/golden/audio.
std::string ClipFile(const std::string& name);

absl::Span<const std::uint8_t> AsBytes(std::string_view text);

}  // namespace forebay::audio

#endif  // FOREBAY_TESTS_UNIT_SERVER_AUDIO_GOLDEN_CLIPS_H_
