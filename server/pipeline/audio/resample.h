#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_RESAMPLE_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_RESAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "server/base/mutex.h"
#include "server/pipeline/audio/op.h"
#include "server/pipeline/audio/resample_kernel.h"

namespace forebay::pipeline::audio {

// The rates of a Resample, in Hz.
struct ResampleRates {
  std::uint32_t orig_freq = 0;  // 0: the clip's own
  std::uint32_t new_freq = 0;
  // With orig_freq 0: the least of any clip; 0: the first clip's.
  std::uint32_t lowest_freq = 0;
};

// Changes a clip's rate. Where the clip's own counts, it keeps the filters of
// some rates, which are 8 MiB at most.
class Resample final : public Op {
 public:
  // `first_rate` is the first clip's; 0: not known. `clip_shape` is that of a
  // frame of the clip: empty, or the channels. INVALID_ARGUMENT: nothing tells
  // the rate, or filters would be too large.
  static absl::StatusOr<std::unique_ptr<const Op>> Create(
      const ResampleRates& rates, const ResampleOptions& options,
      std::uint32_t first_rate, std::vector<std::uint64_t> clip_shape);

  std::vector<std::uint64_t> frame_shape() const override { return shape_; }
  absl::StatusOr<Signal> OutputOf(const Signal& signal) const override;
  absl::StatusOr<Signal> LongestOf(const Signal& signal) const override;
  absl::Status Run(const float* in, const Signal& signal,
                   transform::Draws& draws, transform::Scratch& scratch,
                   float* out) const override;
  bool makes_parts() const override { return true; }
  absl::StatusOr<FrameRange> InputFor(const Signal& signal,
                                      const FrameRange& part) const override;
  absl::Status RunPart(const float* in, const Signal& signal,
                       const FrameRange& part, transform::Draws& draws,
                       transform::Scratch& scratch, float* out) const override;

 private:
  using Kernel = std::shared_ptr<const ResampleKernel>;
  struct OfRate {
    std::uint32_t rate;
    Kernel kernel;
  };

  Resample(const ResampleRates& rates, const ResampleOptions& options,
           std::vector<std::uint64_t> clip_shape);
  std::uint32_t RateOf(const Signal& signal) const {
    return rates_.orig_freq == 0 ? signal.rate : rates_.orig_freq;
  }
  // The filters from that rate. Makes them if they are not kept.
  absl::StatusOr<Kernel> KernelFrom(std::uint32_t rate) const;
  // Null if they are not kept.
  Kernel KeptLocked(std::uint32_t rate) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ResampleRates rates_;
  const ResampleOptions options_;
  const std::vector<std::uint64_t> shape_;
  mutable base::Mutex mutex_;
  // The newest last.
  mutable std::vector<OfRate> kernels_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_RESAMPLE_H_
