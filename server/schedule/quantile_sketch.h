#ifndef FOREBAY_SERVER_SCHEDULE_QUANTILE_SKETCH_H_
#define FOREBAY_SERVER_SCHEDULE_QUANTILE_SKETCH_H_

#include <array>
#include <cstdint>

namespace forebay::schedule {

// Quantiles of what was measured of late, in 2 KiB: counters for eighths of
// powers of two, halved now and then, so that a thousand new samples outweigh
// all old ones. Not thread-safe; never blocks. No errors.
class QuantileSketch {
 public:
  // Negative counts as 0.
  void Add(std::int64_t value);

  // At least the share `q` (0 to 1) of the samples are this or smaller; too
  // large by an eighth at most. 0 where there are none.
  std::int64_t Quantile(double q) const;

  // Samples that are remembered.
  std::uint64_t count() const { return count_; }

 private:
  std::array<std::uint32_t, 512> counters_ = {};
  std::uint64_t count_ = 0;
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_QUANTILE_SKETCH_H_
