#include "server/pipeline/audio/spectrogram.h"

#include <utility>

#include "server/base/status.h"
#include "server/pipeline/audio/audio_ops.h"
#include "server/pipeline/audio/stft_reader.h"

namespace forebay::pipeline::audio {

Spectrogram::Spectrogram(const StftOptions& options,
                         std::optional<MelScale> mel,
                         std::vector<std::uint64_t> clip_shape)
    : stft_(options),
      mel_(std::move(mel)),
      clip_shape_(std::move(clip_shape)) {}

std::vector<std::uint64_t> Spectrogram::frame_shape() const {
  std::vector<std::uint64_t> shape = clip_shape_;
  shape.push_back(row_elements());
  return shape;
}

absl::StatusOr<Signal> Spectrogram::OutputOf(const Signal& signal) const {
  FOREBAY_ASSIGN_OR_RETURN(const Signal made, LongestOf(signal));
  FOREBAY_RETURN_IF_ERROR(stft_.CheckWork(made.frames, channels()));
  return made;
}

// Unlike OutputOf, LongestOf does not limit the work. It bounds sizes for whole
// clips, of which only a part may be used.
absl::StatusOr<Signal> Spectrogram::LongestOf(const Signal& signal) const {
  FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t times,
                           stft_.TimesOf(signal.frames));
  return Signal{.frames = times};
}

absl::Status Spectrogram::Run(const float* in, const Signal& signal,
                              const transform::Drawn& /*drawn*/,
                              transform::Scratch& scratch, float* out) const {
  FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t times,
                           stft_.TimesOf(signal.frames));
  FOREBAY_ASSIGN_OR_RETURN(
      float* const work,
      scratch.Allocate<float>(stft_.work_elements() + stft_.bins(),
                              "a spectrum"));
  float* const bins = work + stft_.work_elements();
  for (std::uint64_t time = 0; time < times; ++time) {
    for (std::size_t c = 0; c < channels(); ++c) {
      const StftChannel channel{
          .first = in + c, .frames = signal.frames, .stride = channels()};
      stft_.Row(channel, time, work, mel_.has_value() ? bins : out);
      if (mel_.has_value()) mel_->Apply(bins, out);
      out += row_elements();
    }
  }
  return absl::OkStatus();
}

OpOrRefusal Make(const proto::Spectrogram& op, const Input& input) {
  FOREBAY_RETURN_IF_ERROR(CheckClip(input));
  FOREBAY_ASSIGN_OR_RETURN(const StftOptions stft, ReadStft(op));
  return std::make_unique<const Spectrogram>(stft, std::nullopt,
                                             input.frame_shape);
}

// A MelSpectrogram is a spectrogram whose bins are summed in bands.
OpOrRefusal Make(const proto::MelSpectrogram& op, const Input& input) {
  FOREBAY_RETURN_IF_ERROR(CheckClip(input));
  FOREBAY_ASSIGN_OR_RETURN(const StftOptions stft, ReadStft(op.spectrogram()));
  FOREBAY_ASSIGN_OR_RETURN(const MelOptions mel, ReadMel(op, stft));
  return std::make_unique<const Spectrogram>(stft, MelScale(mel),
                                             input.frame_shape);
}

}  // namespace forebay::pipeline::audio
