// Fuzzes the decoders of audio files. A file is refused, or windows of it are
// decoded. A length that is measured by a part of the file equals the length
// that is measured by the whole file.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "server/audio/any_clip_decoder.h"
#include "server/audio/audio_format.h"
#include "server/audio/partial_file.h"
#include "tests/fuzz/require.h"

namespace {

using forebay::audio::AnyClipDecoder;
using forebay::audio::PartialFile;
using forebay::fuzz::Require;

constexpr std::uint64_t kMostNumbers = 1 << 16;

// Decodes a window that begins at `quarters` quarters of the clip.
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

// Measures the file's length by some of its first and last bytes.
void MeasureParts(absl::Span<const std::uint8_t> file) {
  AnyClipDecoder decoder;
  const auto whole = decoder.Open(file);
  for (const std::size_t eighths : {1, 2, 5, 7}) {
    const std::size_t head = file.size() / 8 * eighths;
    for (const std::size_t tail : {std::size_t{0}, (file.size() - head) / 3}) {
      const auto part = decoder.Measure(
          PartialFile(file.size(), file.first(head), file.last(tail)));
      Require(part.ok() || head == file.size());
      if (!part.ok() || !part->has_value()) continue;
      Require(whole.ok() && (*part)->frames == whole->frames &&
              (*part)->channels == whole->channels &&
              (*part)->sample_rate == whole->sample_rate);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const absl::Span<const std::uint8_t> file(data, size);
  for (const std::uint64_t quarters : {0, 1, 3}) DecodeWindow(file, quarters);
  MeasureParts(file);
  return 0;
}
