#ifndef FOREBAY_SERVER_AUDIO_MP3_DECODER_H_
#define FOREBAY_SERVER_AUDIO_MP3_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/audio/clip_decoder.h"
#include "server/audio/partial_file.h"

// libmpg123's; its header is not for others.
struct mpg123_handle_struct;

namespace forebay::audio {

// Decodes MP3 by libmpg123, without what the encoder added at both ends if the
// file says how much that is. Of mpg123's decoders it takes the one in plain C,
// whose numbers are the same on every CPU. Threads, ownership, blocking and
// errors are as ClipDecoder says.
class Mp3Decoder final : public ClipDecoder {
 public:
  Mp3Decoder() = default;

  absl::StatusOr<ClipInfo> Open(absl::Span<const std::uint8_t> file) override;
  absl::Status Decode(std::uint64_t begin, absl::Span<float> out) override;
  // As Open, but nothing is open then. If `file` lacked bytes, neither result
  // nor error are to be trusted.
  absl::StatusOr<ClipInfo> Measure(PartialFile* file);

 private:
  // The file, as mpg123 reads it.
  struct Memory {
    PartialFile* file = nullptr;
    std::uint64_t at = 0;
  };
  struct Delete {
    void operator()(mpg123_handle_struct* handle) const;
  };
  using Handle = std::unique_ptr<mpg123_handle_struct, Delete>;

  static absl::StatusOr<Handle> MakeHandle();
  absl::StatusOr<ClipInfo> OpenFile(PartialFile* file);
  absl::StatusOr<ClipInfo> ReadHeader();
  // Whether the encoder said how long the clip is.
  bool IsTold();
  // Frames of the clip; negative if they cannot be told.
  std::int64_t Length();
  absl::Status SeekTo(std::uint64_t begin);

  ClipInfo info_;
  PartialFile bytes_{absl::Span<const std::uint8_t>()};
  Memory memory_;
  Handle handle_;  // null if nothing is open
};

}  // namespace forebay::audio

#endif  // FOREBAY_SERVER_AUDIO_MP3_DECODER_H_
