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

// libsndfile's; its header is not for others.
struct sf_private_tag;

namespace forebay::audio {

// Decodes WAV, FLAC, and Vorbis and Opus in Ogg files, by libsndfile. Threads,
// ownership, blocking and errors are as ClipDecoder says.
class SndfileDecoder final : public ClipDecoder {
 public:
  SndfileDecoder();
  ~SndfileDecoder() override;

  absl::StatusOr<ClipInfo> Open(absl::Span<const std::uint8_t> file) override;
  absl::Status Decode(std::uint64_t begin, absl::Span<float> out) override;
  // As Open, but nothing is open then. If `file` lacked bytes, neither result
  // nor error are to be trusted.
  absl::StatusOr<ClipInfo> Measure(PartialFile* file);

 private:
  // The file, as libsndfile reads it.
  class Memory;
  struct Close {
    void operator()(sf_private_tag* file) const;
  };

  absl::Status Damaged(std::string_view how) const;
  // Comes before each call of libsndfile's that reads.
  void AllowOneCall();
  // Opens the file. `subtype` becomes libsndfile's.
  absl::StatusOr<ClipInfo> OpenFile(PartialFile* file, int* subtype);
  // Takes the file to the frame `begin`.
  absl::Status SeekTo(std::uint64_t begin);

  AudioFormat format_ = AudioFormat::kOther;
  ClipInfo info_;
  bool is_seekable_ = false;
  // Seeking to these frames is exact; further on, it is only from there.
  std::uint64_t seekable_ = 0;
  // Whether it is a Vorbis file of which IsCutOut was not asked yet.
  bool may_be_cut_out_ = false;
  std::uint64_t preroll_ = 0;  // frames to be decoded before others
  PartialFile bytes_{absl::Span<const std::uint8_t>()};
  // Outlives the file, which reads from it.
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<sf_private_tag, Close> file_;  // null if nothing is open
};

}  // namespace forebay::audio

#endif  // FOREBAY_SERVER_AUDIO_SNDFILE_DECODER_H_
