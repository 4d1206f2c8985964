#include "server/schedule/quantile_sketch.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace forebay::schedule {
namespace {

// The sum of the counters at which all of them are halved.
constexpr std::uint64_t kMaxCount = 1024;
// The number of bits after a value's highest set bit that help to choose the
// counter.
constexpr int kFractionBits = 3;

// Returns the counter of a value. A counter's values are those that round down
// to the same floating-point number with 3 bits of fraction. Values below 8
// have a counter each.
std::size_t CounterOf(std::uint64_t value) {
  if (value < (1U << kFractionBits)) return value;
  const int exponent = std::bit_width(value) - 1 - kFractionBits;
  const std::uint64_t fraction =
      (value >> exponent) & ((1U << kFractionBits) - 1);
  return ((static_cast<std::size_t>(exponent) + 1) << kFractionBits) + fraction;
}

// Returns the largest value that a counter counts: the inverse of CounterOf.
std::int64_t LargestOf(std::size_t counter) {
  if (counter < (1U << kFractionBits))
    return static_cast<std::int64_t>(counter);
  const std::size_t exponent = (counter >> kFractionBits) - 1;
  const std::uint64_t first = (std::uint64_t{1} << kFractionBits) +
                              (counter & ((1U << kFractionBits) - 1));
  return static_cast<std::int64_t>(((first + 1) << exponent) - 1);
}

}  // namespace

void QuantileSketch::Add(std::int64_t value) {
  ++counters_[CounterOf(
      static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)))];
  if (++count_ < kMaxCount) return;
  count_ = 0;
  for (std::uint32_t& counter : counters_) count_ += counter /= 2;
}

std::int64_t QuantileSketch::Quantile(double q) const {
  std::uint64_t samples = 0;
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    samples += counters_[i];
    if (counters_[i] > 0 &&
        static_cast<double>(samples) >= q * static_cast<double>(count_))
      return LargestOf(i);
  }
  return 0;
}

}  // namespace forebay::schedule
