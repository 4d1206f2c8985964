#ifndef FOREBAY_SERVER_SAMPLER_SAMPLE_DRAWS_H_
#define FOREBAY_SERVER_SAMPLER_SAMPLE_DRAWS_H_

#include <cstdint>
#include <optional>

namespace forebay::sampler {

// The samples of one member's epoch, drawn when they are asked for.
//
// Thread-safe. Shared by the parts that start epochs and the parts that read
// them. Blocks only for its own lock. No errors.
class SampleDraws {
 public:
  virtual ~SampleDraws() = default;

  // Returns the sample at `position`, which lies in the epoch and not before
  // its start. The first call for a position draws its sample, and the samples
  // of all positions before it. Later calls return the same samples.
  virtual std::uint64_t At(std::uint64_t position) = 0;

  // Returns an estimate of the position of a sample that is not drawn yet. For
  // a drawn sample that may be wanted soon after the epoch, returns a position
  // behind the epoch's end. For any other drawn sample, returns nullopt.
  virtual std::optional<std::uint64_t> PositionOf(
      std::uint64_t sample) const = 0;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_SAMPLE_DRAWS_H_
