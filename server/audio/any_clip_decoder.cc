#include "server/audio/any_clip_decoder.h"

#include "server/audio/audio_format.h"

namespace forebay::audio {

absl::StatusOr<ClipInfo> AnyClipDecoder::Open(
    absl::Span<const std::uint8_t> file) {
  opened_ = nullptr;
  ClipDecoder* decoder = &sndfile_;
  switch (FormatOf(file)) {
    case AudioFormat::kWav:
    case AudioFormat::kFlac:
    case AudioFormat::kOgg:
      break;
    case AudioFormat::kMp3:
      decoder = &mp3_;
      break;
    case AudioFormat::kOther:
      return absl::DataLossError(file.empty()
                                     ? "is an empty file"
                                     : "is not a WAV, FLAC, Ogg or MP3 file");
  }
  auto info = decoder->Open(file);
  if (info.ok()) opened_ = decoder;
  return info;
}

absl::StatusOr<std::optional<ClipInfo>> AnyClipDecoder::Measure(
    PartialFile file) {
  if (file.is_whole()) {
    auto info = Open(file.head());
    opened_ = nullptr;
    if (!info.ok()) return info.status();
    return *info;
  }
  opened_ = nullptr;
  // If too few first bytes are at hand, FormatOf may find a wrong format.
  if (file.head().size() < BytesToTell(file.head())) return std::nullopt;
  const AudioFormat format = FormatOf(file.head());
  // libsndfile reads many more formats, but Open refuses them.
  if (format == AudioFormat::kOther) return std::nullopt;
  const auto info = format == AudioFormat::kMp3 ? mp3_.Measure(&file)
                                                : sndfile_.Measure(&file);
  // If the decoder lacked bytes, its result may be wrong.
  if (!info.ok() || file.lacked_bytes()) return std::nullopt;
  return *info;
}

absl::Status AnyClipDecoder::Decode(std::uint64_t begin,
                                    absl::Span<float> out) {
  if (opened_ == nullptr) return absl::FailedPreconditionError("is not open");
  return opened_->Decode(begin, out);
}

}  // namespace forebay::audio
