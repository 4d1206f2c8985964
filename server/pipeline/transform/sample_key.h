#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_SAMPLE_KEY_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_SAMPLE_KEY_H_

#include <cstdint>

namespace forebay::pipeline::transform {

// The key of all random draws for one sample: equal keys give equal draws.
struct SampleKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t sample = 0;
};

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_SAMPLE_KEY_H_
