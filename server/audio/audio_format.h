#ifndef FOREBAY_SERVER_AUDIO_AUDIO_FORMAT_H_
#define FOREBAY_SERVER_AUDIO_AUDIO_FORMAT_H_

#include <cstdint>
#include <string_view>

#include "absl/types/span.h"

namespace forebay::audio {

// A format of audio files. Ogg files hold Vorbis or Opus.
enum class AudioFormat { kWav, kFlac, kOgg, kMp3, kOther };

// Returns a file's format, judged by its first bytes. All functions in this
// header are thread-safe, never block and have no errors.
AudioFormat FormatOf(absl::Span<const std::uint8_t> file);

// Returns the file without the ID3v2 tags that it may begin with.
absl::Span<const std::uint8_t> BehindTags(absl::Span<const std::uint8_t> file);

// Returns how many of a file's first bytes FormatOf needs. `head` has the first
// bytes that are at hand. If FormatOf needs more, the result is larger than the
// length of `head`.
std::uint64_t BytesToTell(absl::Span<const std::uint8_t> head);

// Returns a format's name for people: "FLAC".
std::string_view NameOf(AudioFormat format);

// Returns the most frames that a usual file of this format has for each byte.
// Compressed silence may have thousands of frames for each byte.
std::uint64_t UsualFramesPerByte(AudioFormat format);

}  // namespace forebay::audio

#endif  // FOREBAY_SERVER_AUDIO_AUDIO_FORMAT_H_
