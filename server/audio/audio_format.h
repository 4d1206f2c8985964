#ifndef FOREBAY_SERVER_AUDIO_AUDIO_FORMAT_H_
#define FOREBAY_SERVER_AUDIO_AUDIO_FORMAT_H_

#include <cstdint>
#include <string_view>

#include "absl/types/span.h"

namespace forebay::audio {

// Formats of audio files. Ogg files hold Vorbis or Opus.
enum class AudioFormat { kWav, kFlac, kOgg, kMp3, kOther };

// Tells by a file's first bytes what it is, whatever follows. Functions are
// thread-safe and never block.
AudioFormat FormatOf(absl::Span<const std::uint8_t> file);

// Returns what lies behind the ID3v2 tags that a file begins with, if any.
absl::Span<const std::uint8_t> BehindTags(absl::Span<const std::uint8_t> file);

// Returns how many of a file's first bytes FormatOf wants to see: more than
// there are in `head`, if that is too short.
std::uint64_t BytesToTell(absl::Span<const std::uint8_t> head);

// For people: "FLAC".
std::string_view NameOf(AudioFormat format);

// Returns the most frames for each byte that files of that format usually have.
// Compressed ones may have more: those of silence have thousands.
std::uint64_t UsualFramesPerByte(AudioFormat format);

}  // namespace forebay::audio

#endif  // FOREBAY_SERVER_AUDIO_AUDIO_FORMAT_H_
