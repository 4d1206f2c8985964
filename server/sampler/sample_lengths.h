#ifndef FOREBAY_SERVER_SAMPLER_SAMPLE_LENGTHS_H_
#define FOREBAY_SERVER_SAMPLER_SAMPLE_LENGTHS_H_

#include <cstdint>

namespace forebay::sampler {

// Tells how long a dataset's samples are, in a unit that its owner chooses.
//
// Immutable and thread-safe. Its owner and all orders by length share it. Never
// blocks. No errors.
class SampleLengths {
 public:
  virtual ~SampleLengths() = default;

  // Returns the length of a sample: always the same, and at most 2^40.
  virtual std::uint64_t LengthOf(std::uint64_t sample) const = 0;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_SAMPLE_LENGTHS_H_
