#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_DRAWS_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_DRAWS_H_

#include <cstdint>

#include "server/base/philox.h"
#include "server/pipeline/transform/sample_key.h"

namespace forebay::pipeline::transform {

// The source of one op's random numbers for one sample. Not thread-safe. The
// caller owns it. Never blocks. No errors.
class Draws {
 public:
  virtual ~Draws() = default;

  // Returns a uniform multiple of 2^-24 in [0, 1), as torch.rand does.
  virtual float Unit() = 0;
  // Returns a uniform number in 0 to n - 1; n is above 0.
  virtual std::uint64_t Below(std::uint64_t n) = 0;
};

// Draws a float32 between `low` and `high`, as torch.Tensor.uniform_ does.
inline float UniformFloat(Draws& draws, double low, double high) {
  const float from = static_cast<float>(low);
  const float to = static_cast<float>(high);
  return draws.Unit() * (to - from) + from;
}

// The random numbers of op number `op` for one sample in one epoch, from a
// Philox stream. Equal arguments give equal numbers, in whatever order samples
// are made.
class PhiloxDraws final : public Draws {
 public:
  PhiloxDraws(const SampleKey& key, std::uint16_t op)
      : stream_(key.seed, key.epoch, key.sample, op) {}

  float Unit() override {
    return static_cast<float>(stream_.NextUint32() >> 8) * 0x1.0p-24F;
  }
  std::uint64_t Below(std::uint64_t n) override {
    return stream_.UniformInt(n);
  }

 private:
  base::PhiloxStream stream_;
};

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_DRAWS_H_
