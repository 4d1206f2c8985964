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

// A type of libmpg123. Only the .cc file includes libmpg123's header.
struct mpg123_handle_struct;

namespace forebay::audio {

// Decodes MP3 by libmpg123. If the file tells how many samples the encoder
// added at both ends, leaves these samples out. Uses mpg123's decoder in plain
// C, which gives the same numbers on every CPU. Threads, ownership, blocking
// and errors are as ClipDecoder says.
class Mp3Decoder final : public ClipDecoder {
 public:
  Mp3Decoder() = default;

  absl::StatusOr<ClipInfo> Open(absl::Span<const std::uint8_t> file) override;
  absl::Status Decode(std::uint64_t begin, absl::Span<float> out) override;
  // Returns what Open would return; no file is open afterwards. If
  // `file->lacked_bytes()` is set afterwards, neither the result nor the error
  // can be trusted.
  absl::StatusOr<ClipInfo> Measure(PartialFile* file);

 private:
  // The file as mpg123 reads it, and the offset of its next read.
  struct Memory {
    PartialFile* file = nullptr;
    std::uint64_t at = 0;
  };
  struct Delete {
    void operator()(mpg123_handle_struct* handle) const;
  };
  using Handle = std::unique_ptr<mpg123_handle_struct, Delete>;

  // Makes a decoder with our options. RESOURCE_EXHAUSTED: mpg123 cannot make
  // the decoder.
  static absl::StatusOr<Handle> MakeHandle();
  // Opens a file, and reads its header.
  absl::StatusOr<ClipInfo> OpenFile(PartialFile* file);
  // Reads the first frame's header, and finds the clip's length.
  absl::StatusOr<ClipInfo> ReadHeader();
  // Returns whether the encoder wrote the clip's length into the file.
  bool IsTold();
  // Returns how many frames the clip has; negative if mpg123 cannot tell.
  std::int64_t Length();
  // Moves the decoder to the frame `begin`.
  absl::Status SeekTo(std::uint64_t begin);

  ClipInfo info_;
  // The file that Open was given.
  PartialFile bytes_{absl::Span<const std::uint8_t>()};
  Memory memory_;
  // The decoder; null if no file is open.
  Handle handle_;
};

}  // namespace forebay::audio

#endif  // FOREBAY_SERVER_AUDIO_MP3_DECODER_H_
