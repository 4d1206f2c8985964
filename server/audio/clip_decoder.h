#ifndef FOREBAY_SERVER_AUDIO_CLIP_DECODER_H_
#define FOREBAY_SERVER_AUDIO_CLIP_DECODER_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::audio {

// The size of a clip. A clip is the content of an audio file; each of its
// frames has one number for each channel.
struct ClipInfo {
  // Frames, at most 2^40.
  std::uint64_t frames = 0;
  // Channels, 1 to 1024.
  std::uint32_t channels = 0;
  // Frames per second.
  std::uint32_t sample_rate = 0;
};

// Checks that the numbers of a file's header are within ClipInfo's ranges.
// DATA_LOSS: a number is out of range. `format` is the format's name for the
// message: "FLAC". Thread-safe; never blocks.
absl::Status CheckClip(std::string_view format, std::int64_t frames,
                       std::int64_t channels, std::int64_t sample_rate);

// Decodes parts of an audio file to the same float32 numbers as
// soundfile.read(). If the file stores integers, the float32 numbers lie
// between -1 and 1.
//
// Not thread-safe. Borrows the file from Open until the next Open or the
// decoder's destruction. Never blocks. After any error, the decoder is ready
// for the next Open. An error's message is a predicate, to be written after the
// file's name.
class ClipDecoder {
 public:
  virtual ~ClipDecoder() = default;

  // Reads the header. If the file is compressed, also reads the parts that tell
  // the clip's length. DATA_LOSS: the bytes are not an audio file of a
  // supported format, or the parts that Open reads are damaged.
  // RESOURCE_EXHAUSTED: the system has no memory for the decoder.
  virtual absl::StatusOr<ClipInfo> Open(
      absl::Span<const std::uint8_t> file) = 0;

  // Fills `out` with frames of the opened file, from frame `begin` on. In
  // `out`, the channels of a frame follow each other. Call Decode once for each
  // Open. The file must have all of these frames. Damage in other frames is not
  // noticed. DATA_LOSS: the wanted frames are damaged, or the file is shorter
  // than its header says. FAILED_PRECONDITION: no file is open.
  virtual absl::Status Decode(std::uint64_t begin, absl::Span<float> out) = 0;
};

}  // namespace forebay::audio

#endif  // FOREBAY_SERVER_AUDIO_CLIP_DECODER_H_
