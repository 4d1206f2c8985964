#ifndef FOREBAY_SERVER_AUDIO_ANY_CLIP_DECODER_H_
#define FOREBAY_SERVER_AUDIO_ANY_CLIP_DECODER_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/audio/clip_decoder.h"
#include "server/audio/mp3_decoder.h"
#include "server/audio/partial_file.h"
#include "server/audio/sndfile_decoder.h"

namespace forebay::audio {

// Decodes a clip of any supported format. The file's first bytes, not its name,
// tell the format. Threads, ownership, blocking and errors are as ClipDecoder
// says.
class AnyClipDecoder final : public ClipDecoder {
 public:
  AnyClipDecoder() = default;

  absl::StatusOr<ClipInfo> Open(absl::Span<const std::uint8_t> file) override;
  absl::Status Decode(std::uint64_t begin, absl::Span<float> out) override;
  // Returns what Open would return, although perhaps only a part of the file is
  // at hand. No file is open afterwards. Returns nullopt if that part does not
  // tell the clip's size.
  absl::StatusOr<std::optional<ClipInfo>> Measure(PartialFile file);

 private:
  SndfileDecoder sndfile_;
  Mp3Decoder mp3_;
  // The decoder that has a file open; null if no file is open.
  ClipDecoder* opened_ = nullptr;
};

}  // namespace forebay::audio

#endif  // FOREBAY_SERVER_AUDIO_ANY_CLIP_DECODER_H_
