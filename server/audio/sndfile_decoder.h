#ifndef FOREBAY_SERVER_AUDIO_SNDFILE_DECODER_H_
#define FOREBAY_SERVER_AUDIO_SNDFILE_DECODER_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/audio/audio_format.h"
#include "server/audio/clip_decoder.h"
#include "server/audio/partial_file.h"

// A type of libsndfile. Only the .cc file includes libsndfile's header.
struct sf_private_tag;

namespace forebay::audio {

// Decodes WAV and FLAC files, and Ogg files of Vorbis or Opus, by libsndfile.
// Threads, ownership, blocking and errors are as ClipDecoder says.
class SndfileDecoder final : public ClipDecoder {
 public:
  SndfileDecoder();
  ~SndfileDecoder() override;

  absl::StatusOr<ClipInfo> Open(absl::Span<const std::uint8_t> file) override;
  absl::Status Decode(std::uint64_t begin, absl::Span<float> out) override;
  // Returns what Open would return; no file is open afterwards. If
  // `file->lacked_bytes()` is set afterwards, neither the result nor the error
  // can be trusted.
  absl::StatusOr<ClipInfo> Measure(PartialFile* file);

 private:
  // The file, as libsndfile's callbacks read it.
  class Memory;
  struct Close {
    void operator()(sf_private_tag* file) const;
  };

  // Returns DATA_LOSS for a damaged file. In the message, `how` follows the
  // format's name.
  absl::Status Damaged(std::string_view how) const;
  // Renews the limits on reads. Call it before each call of libsndfile that
  // reads.
  void AllowOneCall();
  // Opens the file. Sets `subtype` to libsndfile's code for the encoding.
  absl::StatusOr<ClipInfo> OpenFile(PartialFile* file, int* subtype);
  // Moves libsndfile to the frame `begin`. If seeking is not exact, seeks to an
  // earlier frame, and decodes up to `begin`.
  absl::Status SeekTo(std::uint64_t begin);

  AudioFormat format_ = AudioFormat::kOther;
  ClipInfo info_;
  bool is_seekable_ = false;
  // Seeking is exact for frames before frame `seekable_`. To reach a later
  // frame, frames are decoded from `seekable_` - 1 on.
  std::uint64_t seekable_ = 0;
  // Whether the file is Vorbis, and IsCutOut was not called for the file yet.
  bool may_be_cut_out_ = false;
  // Number of frames to decode before the first wanted frame.
  std::uint64_t preroll_ = 0;
  // The file that Open was given.
  PartialFile bytes_{absl::Span<const std::uint8_t>()};
  // Outlives `file_`, which reads from it.
  std::unique_ptr<Memory> memory_;
  // The state of libsndfile; null if no file is open.
  std::unique_ptr<sf_private_tag, Close> file_;
};

}  // namespace forebay::audio

#endif  // FOREBAY_SERVER_AUDIO_SNDFILE_DECODER_H_
