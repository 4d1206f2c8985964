#ifndef FOREBAY_SERVER_AUDIO_CLIP_DECODER_H_
#define FOREBAY_SERVER_AUDIO_CLIP_DECODER_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::audio {

// A clip is what an audio file holds. A frame has one number for each channel.
struct ClipInfo {
  std::uint64_t frames = 0;       // at most 2^40
  std::uint32_t channels = 0;     // 1 to 1024
  std::uint32_t sample_rate = 0;  // Hz; frames a second
};

// DATA_LOSS: the numbers are none of a clip. `format` is for people: "FLAC".
// Thread-safe; never blocks.
absl::Status CheckClip(std::string_view format, std::int64_t frames,
                       std::int64_t channels, std::int64_t sample_rate);

// Decodes parts of an audio file: the very numbers that soundfile.read() gives
// as float32, -1 to 1 where the file has integers.
//
// Not thread-safe. Borrows the file from Open on, until it is destroyed or the
// next Open. Does not block. After any error it is ready for the next Open. A
// message is a predicate, to be put behind the name of the file.
class ClipDecoder {
 public:
  virtual ~ClipDecoder() = default;

  // Reads the header, and of compressed files what tells their length.
  // DATA_LOSS: it is no such file, or damaged there; RESOURCE_EXHAUSTED: the
  // system has no memory for the decoder.
  virtual absl::StatusOr<ClipInfo> Open(
      absl::Span<const std::uint8_t> file) = 0;

  // Fills `out` with the frames from `begin` on, frame by frame; once per Open.
  // They must be frames of the opened file. Damage elsewhere is not noticed.
  // DATA_LOSS: the
  // file is damaged there, or shorter than its header says;
  // FAILED_PRECONDITION: nothing is open.
  virtual absl::Status Decode(std::uint64_t begin, absl::Span<float> out) = 0;
};

}  // namespace forebay::audio

#endif  // FOREBAY_SERVER_AUDIO_CLIP_DECODER_H_
