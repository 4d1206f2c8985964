// Audio files: whatever the bytes, they are refused, or windows of them are
// decoded.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "server/audio/any_clip_decoder.h"
#include "server/audio/audio_format.h"
#include "tests/fuzz/require.h"

namespace {

using forebay::audio::AnyClipDecoder;
using forebay::fuzz::Require;

constexpr std::uint64_t kMostNumbers = 1 << 16;

// Decodes a window that begins at so many quarters of the clip.
void DecodeWindow(absl::Span<const std::uint8_t> file, std::uint64_t quarters) {
  AnyClipDecoder decoder;
  const auto clip = decoder.Open(file);
  if (!clip.ok()) {
    Require(absl::IsDataLoss(clip.status()));
    return;
  }
  Require(forebay::audio::FormatOf(file) !=
          forebay::audio::AudioFormat::kOther);
  Require(clip->channels > 0 && clip->sample_rate > 0);
  const std::uint64_t begin = clip->frames / 4 * quarters;
  const std::uint64_t frames =
      std::min(clip->frames - begin, kMostNumbers / clip->channels);
  std::vector<float> numbers(frames * clip->channels);
  const absl::Status status = decoder.Decode(begin, absl::MakeSpan(numbers));
  Require(status.ok() || absl::IsDataLoss(status));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const absl::Span<const std::uint8_t> file(data, size);
  for (const std::uint64_t quarters : {0, 1, 3}) DecodeWindow(file, quarters);
  return 0;
}
