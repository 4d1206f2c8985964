#include "server/pipeline/audio/mfcc.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "server/base/status.h"
#include "server/pipeline/audio/audio_ops.h"
#include "server/pipeline/audio/decibels.h"
#include "server/pipeline/audio/parameter.h"
#include "server/pipeline/audio/stft_reader.h"
#include "server/pipeline/transform/exact_math.h"

namespace forebay::pipeline::audio {
namespace {

// The most decibels by which a band may lie below the sample's greatest band,
// as in torchaudio. Lower bands are raised to this bound.
constexpr float kTopDb = 80;

// Returns the matrix of the DCT-II: torchaudio's create_dct, transposed.
std::vector<float> CosinesOf(const MfccOptions& options, std::size_t n_mels) {
  std::vector<float> cosines;
  cosines.reserve(n_mels * options.n_mfcc);
  const auto size = static_cast<double>(n_mels);
  for (std::size_t n = 0; n < n_mels; ++n) {
    for (std::uint32_t k = 0; k < options.n_mfcc; ++k) {
      // The angle is in units of pi.
      const double angle = (static_cast<double>(n) + 0.5) * k / size;
      const double scale =
          options.ortho ? std::sqrt((k == 0 ? 1.0 : 2.0) / size) : 2.0;
      cosines.push_back(
          static_cast<float>(transform::ExactCosPi(angle) * scale));
    }
  }
  return cosines;
}

}  // namespace

Mfcc::Mfcc(const StftOptions& stft, const MelOptions& mel,
           const MfccOptions& options,
           const std::vector<std::uint64_t>& clip_shape)
    : options_(options),
      bands_(stft, MelScale(mel), clip_shape),
      n_mels_(mel.n_mels),
      channels_(clip_shape.empty() ? 1 : clip_shape.front()),
      cosines_(CosinesOf(options, n_mels_)) {}

std::vector<std::uint64_t> Mfcc::frame_shape() const {
  std::vector<std::uint64_t> shape = bands_.frame_shape();
  shape.back() = options_.n_mfcc;
  return shape;
}

absl::Status Mfcc::Run(const float* in, const Signal& signal,
                       const transform::Drawn& drawn,
                       transform::Scratch& scratch, float* out) const {
  FOREBAY_ASSIGN_OR_RETURN(const Signal times, bands_.OutputOf(signal));
  std::uint64_t rows = 0;
  if (__builtin_mul_overflow(times.frames, channels_, &rows) ||
      rows > kMaxFrames)
    return absl::InvalidArgumentError("is too long");
  FOREBAY_ASSIGN_OR_RETURN(
      float* const bands,
      scratch.Allocate<float>(rows * n_mels_, "a mel spectrogram"));
  FOREBAY_RETURN_IF_ERROR(bands_.Run(in, signal, drawn, scratch, bands));
  if (options_.log_mels) {
    ToLogs(bands, rows * n_mels_, bands);
  } else {
    ToDecibels({.top_db = kTopDb}, bands, rows * n_mels_, bands);
  }
  const std::size_t count = options_.n_mfcc;
  for (std::uint64_t row = 0; row < rows; ++row) {
    const float* const from = bands + row * n_mels_;
    float* const to = out + row * count;
    // Bands are added in a fixed order, so that sums are the same on every CPU.
    std::fill(to, to + count, 0.0F);
    for (std::size_t n = 0; n < n_mels_; ++n) {
      const float* const cosines = cosines_.data() + n * count;
      for (std::size_t k = 0; k < count; ++k) to[k] += from[n] * cosines[k];
    }
  }
  return absl::OkStatus();
}

// An MFCC makes a mel spectrogram of its own.
OpOrRefusal Make(const proto::Mfcc& op, const Input& input) {
  FOREBAY_RETURN_IF_ERROR(CheckClip(input));
  FOREBAY_ASSIGN_OR_RETURN(const StftOptions stft,
                           ReadStft(op.mel().spectrogram()));
  FOREBAY_ASSIGN_OR_RETURN(const MelOptions mel, ReadMel(op.mel(), stft));
  MfccOptions options{.ortho = !op.has_ortho() || op.ortho(),
                      .log_mels = op.log_mels()};
  if (op.n_mfcc() != 0) options.n_mfcc = op.n_mfcc();
  FOREBAY_RETURN_IF_ERROR(
      CheckParameter<std::uint32_t>(options.n_mfcc, 1, mel.n_mels, "n_mfcc"));
  return std::make_unique<const Mfcc>(stft, mel, options, input.frame_shape);
}

}  // namespace forebay::pipeline::audio
