#ifndef FOREBAY_SERVER_SCHEDULE_QUANTILE_SKETCH_H_
#define FOREBAY_SERVER_SCHEDULE_QUANTILE_SKETCH_H_

#include <array>
#include <cstdint>

namespace forebay::schedule {

// Estimates quantiles of recent samples in 2 KiB. It has counters for eighths
// of powers of two, and halves them now and then, so that a thousand new
// samples outweigh all old ones. Not thread-safe; never blocks. No errors.
class QuantileSketch {
 public:
  // A negative value counts as 0.
  void Add(std::int64_t value);

  // Returns a value that the share `q` (0 to 1) of the samples do not exceed,
  // too large by an eighth at most. Returns 0 if there are no samples.
  std::int64_t Quantile(double q) const;

  // Returns the number of remembered samples.
  std::uint64_t count() const { return count_; }

 private:
  std::array<std::uint32_t, 512> counters_ = {};
  std::uint64_t count_ = 0;
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_QUANTILE_SKETCH_H_
