#include "server/audio/audio_format.h"

#include <algorithm>
#include <cstddef>

namespace forebay::audio {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

bool HasAt(Bytes bytes, std::size_t offset, std::string_view text) {
  return bytes.size() >= offset && bytes.size() - offset >= text.size() &&
         std::equal(text.begin(), text.end(), bytes.begin() + offset,
                    [](char a, std::uint8_t b) {
                      return static_cast<std::uint8_t>(a) == b;
                    });
}

// Whether `bytes` begin with the header of an MPEG audio frame (ISO/IEC
// 11172-3, 2.4.1.3) of layer II or III. Layer I is left out: a text in UTF-16
// begins like a frame of layer I.
bool IsMpegFrame(Bytes bytes) {
  constexpr std::size_t kHeader = 4;
  if (bytes.size() < kHeader || bytes[0] != 0xFF || (bytes[1] & 0xE0) != 0xE0)
    return false;
  const int version = bytes[1] >> 3 & 3;
  const int layer = bytes[1] >> 1 & 3;
  const int bitrate = bytes[2] >> 4;
  const int rate = bytes[2] >> 2 & 3;
  // Version 1, bitrate 15 and rate 3 are reserved or forbidden.
  return version != 1 && (layer == 1 || layer == 2) && bitrate != 15 &&
         rate != 3;
}

// Returns the length in bytes of the ID3v2 tags that the file begins with. The
// length may exceed the file's.
std::size_t TagBytes(Bytes bytes) {
  constexpr std::size_t kHeader = 10;
  std::size_t begin = 0;
  while (HasAt(bytes, begin, "ID3") && bytes.size() - begin >= kHeader) {
    // The size is four bytes of seven bits each (ID3v2.4.0, section 6.2).
    std::size_t length = 0;
    for (std::size_t i = 6; i < kHeader; ++i)
      length = length << 7 | (bytes[begin + i] & 0x7F);
    begin += kHeader + length;
  }
  return begin;
}

bool IsWav(Bytes bytes) {
  // Bytes of the RIFF chunk's type and size, before the form type.
  constexpr std::size_t kHeader = 8;
  return (HasAt(bytes, 0, "RIFF") || HasAt(bytes, 0, "RIFX") ||
          HasAt(bytes, 0, "RF64")) &&
         HasAt(bytes, kHeader, "WAVE");
}

}  // namespace

std::uint64_t BytesToTell(Bytes head) {
  // A WAV file begins with "RIFF", a size, and "WAVE".
  constexpr std::uint64_t kLeast = 12;
  return TagBytes(head) + kLeast;
}

AudioFormat FormatOf(Bytes file) {
  const Bytes untagged = BehindTags(file);
  if (IsWav(untagged)) return AudioFormat::kWav;
  if (HasAt(untagged, 0, "fLaC")) return AudioFormat::kFlac;
  if (HasAt(file, 0, "OggS")) return AudioFormat::kOgg;
  if (HasAt(file, 0, "ID3") || IsMpegFrame(file)) return AudioFormat::kMp3;
  return AudioFormat::kOther;
}

Bytes BehindTags(Bytes file) {
  return file.subspan(std::min(TagBytes(file), file.size()));
}

std::string_view NameOf(AudioFormat format) {
  switch (format) {
    case AudioFormat::kWav:
      return "WAV";
    case AudioFormat::kFlac:
      return "FLAC";
    case AudioFormat::kOgg:
      return "Ogg";
    case AudioFormat::kMp3:
      return "MP3";
    case AudioFormat::kOther:
      break;
  }
  return "audio";
}

std::uint64_t UsualFramesPerByte(AudioFormat format) {
  switch (format) {
    case AudioFormat::kWav:
    case AudioFormat::kFlac:
      // A sample takes at least 4 bits.
      return 2;
    case AudioFormat::kMp3:
      // A low bit rate is 11 kbit/s at 22.05 kHz.
      return 16;
    case AudioFormat::kOgg:
    case AudioFormat::kOther:
      break;
  }
  // Opus at 6 kbit/s has 64 frames of 48 kHz for each byte.
  return 64;
}

}  // namespace forebay::audio
