#ifndef FOREBAY_SERVER_SAMPLER_SAMPLE_LENGTHS_H_
#define FOREBAY_SERVER_SAMPLER_SAMPLE_LENGTHS_H_

#include <cstdint>

namespace forebay::sampler {

// Says how long a dataset's samples are, in whatever unit its owner counts.
// Immutable and thread-safe; never blocks; has no errors.
class SampleLengths {
 public:
  virtual ~SampleLengths() = default;

  // The length of a sample, always the same; at most 2^40.
  virtual std::uint64_t LengthOf(std::uint64_t sample) const = 0;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_SAMPLE_LENGTHS_H_
