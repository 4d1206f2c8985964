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
  // Rate of all clips; 0 if each clip has a rate of its own (Signal::rate).
  std::uint32_t orig_freq = 0;
  // Rate of the output.
  std::uint32_t new_freq = 0;
  // Lowest rate of any clip, if `orig_freq` is 0; 0 stands for the first clip's
  // rate. The lowest rate bounds the length of outputs.
  std::uint32_t lowest_freq = 0;
};

// Changes a clip's sample rate. Filters are kept between calls for some rates,
// at most 8 MiB of them.
//
// Thread-safe: a mutex guards the kept filters, and is not held while filters
// are made. Ownership, blocking and errors are as Op says.
class Resample final : public Op {
 public:
  // Makes the op. `first_rate` is the first clip's rate in Hz; 0 if it is not
  // known. `clip_shape` is the shape of a clip's frame: empty, or the number of
  // channels. INVALID_ARGUMENT: neither `rates` nor the first clip tells the
  // rate, or filters would be too large.
  static absl::StatusOr<std::unique_ptr<const Op>> Create(
      const ResampleRates& rates, const ResampleOptions& options,
      std::uint32_t first_rate, std::vector<std::uint64_t> clip_shape);

  std::vector<std::uint64_t> frame_shape() const override { return shape_; }
  absl::StatusOr<Signal> OutputOf(const Signal& signal) const override;
  absl::StatusOr<Signal> LongestOf(const Signal& signal) const override;
  absl::Status Run(const float* in, const Signal& signal,
                   const transform::Drawn& drawn, transform::Scratch& scratch,
                   float* out) const override;
  bool makes_parts() const override { return true; }
  absl::StatusOr<FrameRange> InputFor(const Signal& signal,
                                      const FrameRange& part) const override;
  absl::Status RunPart(const float* in, const Signal& signal,
                       const FrameRange& part, const transform::Drawn& drawn,
                       transform::Scratch& scratch, float* out) const override;

 private:
  using Kernel = std::shared_ptr<const ResampleKernel>;
  // The filters for one original rate.
  struct OfRate {
    std::uint32_t rate;
    Kernel kernel;
  };

  Resample(const ResampleRates& rates, const ResampleOptions& options,
           std::vector<std::uint64_t> clip_shape);
  // Returns the original rate of a signal.
  std::uint32_t RateOf(const Signal& signal) const {
    return rates_.orig_freq == 0 ? signal.rate : rates_.orig_freq;
  }
  // Returns the filters for the original rate `rate`. Makes filters that are
  // not kept.
  absl::StatusOr<Kernel> KernelFrom(std::uint32_t rate) const;
  // Returns the kept filters for the original rate `rate`; null if they are not
  // kept.
  Kernel KeptLocked(std::uint32_t rate) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ResampleRates rates_;
  const ResampleOptions options_;
  const std::vector<std::uint64_t> shape_;
  mutable base::Mutex mutex_;
  // Kept filters, the newest last.
  mutable std::vector<OfRate> kernels_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_RESAMPLE_H_
