#ifndef FOREBAY_SERVER_AUDIO_AUDIO_FORMAT_H_
#define FOREBAY_SERVER_AUDIO_AUDIO_FORMAT_H_

#include <cstdint>
#include <string_view>

#include "absl/types/span.h"

namespace forebay::audio {

// A format of audio files. Ogg files hold Vorbis or Opus.
enum class AudioFormat { kWav, kFlac, kOgg, kMp3, kOther };

// Returns a file's format, as its first bytes tell it. All functions in this
// header are thread-safe, never block and have no errors.
AudioFormat FormatOf(absl::Span<const std::uint8_t> file);

// Returns the file without the ID3v2 tags that it may begin with.
absl::Span<const std::uint8_t> BehindTags(absl::Span<const std::uint8_t> file);

// Returns how many of a file's first bytes FormatOf needs. `head` has the first
// bytes at hand; the result exceeds the length of `head` if FormatOf needs
// more.
std::uint64_t BytesToTell(absl::Span<const std::uint8_t> head);

// Returns a format's name for people: "FLAC".
std::string_view NameOf(AudioFormat format);

// Returns the most frames that one byte of a usual file of this format stands
// for. Compressed silence may have thousands of frames for each byte.
std::uint64_t UsualFramesPerByte(AudioFormat format);

}  // namespace forebay::audio

#endif  // FOREBAY_SERVER_AUDIO_AUDIO_FORMAT_H_
