#ifndef FOREBAY_SERVER_SCHEDULE_QUANTILE_SKETCH_H_
#define FOREBAY_SERVER_SCHEDULE_QUANTILE_SKETCH_H_

#include <array>
#include <cstdint>

namespace forebay::schedule {

// Estimates quantiles of recent samples, in 2 KiB of memory. Eight counters
// divide each power of two, so an estimate is at most an eighth too large. All
// counters are halved after several hundred samples, so a thousand new samples
// outweigh all old ones.
//
// Not thread-safe: the caller locks. Owns its counters. Never blocks. No
// errors.
class QuantileSketch {
 public:
  // Adds one sample, in any unit. A negative value counts as 0.
  void Add(std::int64_t value);

  // Returns a value that a share `q` (0 to 1) of the samples does not exceed.
  // The value is at most an eighth too large. Returns 0 if there are no
  // samples.
  std::int64_t Quantile(double q) const;

  // Returns the sum of all counters: the samples that still count.
  std::uint64_t count() const { return count_; }

 private:
  // 512 counters reach the largest 63-bit value: 8 for the values below 8, and
  // 8 for each of the 60 powers of two above.
  std::array<std::uint32_t, 512> counters_ = {};
  std::uint64_t count_ = 0;
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_QUANTILE_SKETCH_H_
