#include "server/stream/size_histogram.h"

#include <algorithm>
#include <bit>

#include "server/base/check.h"

namespace forebay::stream {
namespace {

// The value at which sums saturate; two of them still fit 64 bits.
constexpr std::uint64_t kMost = std::uint64_t{1} << 62;

// Returns a + b * c, or kMost if that is less.
std::uint64_t Add(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const unsigned __int128 sum = static_cast<unsigned __int128>(b) * c + a;
  return sum < kMost ? static_cast<std::uint64_t>(sum) : kMost;
}

}  // namespace

void SizeHistogram::Add(std::uint64_t size) {
  FOREBAY_CHECK(size <= kMost);
  ++counts_[ClassOf(size)];
  ++count_;
  sum_ = std::min(sum_ + size, kMost);
  largest_ = std::max(largest_, size);
}

// Each size counts as the largest of its class, so the bound is at most a
// sixteenth too high.
std::uint64_t SizeHistogram::SumOfLargest(std::uint64_t many) const {
  std::uint64_t sum = 0;
  for (std::size_t i = kClasses; i-- > 0 && many > 0;) {
    const std::uint64_t taken = std::min(many, counts_[i]);
    sum = stream::Add(sum, taken, std::min(Most(i), largest_));
    many -= taken;
  }
  return sum;
}

// The smallest sizes are taken first, each as the least of its class.
std::uint64_t SizeHistogram::MostWithin(std::uint64_t sum) const {
  std::uint64_t many = 0;
  for (std::size_t i = 0; i < kClasses; ++i) {
    const std::uint64_t least = Least(i);
    const std::uint64_t taken =
        least == 0 ? counts_[i] : std::min(counts_[i], sum / least);
    many += taken;
    sum -= taken * least;
    if (taken < counts_[i]) break;
  }
  return many;
}

std::size_t SizeHistogram::ClassOf(std::uint64_t size) {
  if (size < kExact) return size;
  const auto shift = static_cast<std::uint64_t>(std::bit_width(size)) - 5;
  return kExact + (shift - 1) * 16 + ((size >> shift) - 16);
}

std::uint64_t SizeHistogram::Least(std::size_t number) {
  if (number < kExact) return number;
  const std::uint64_t shift = (number - kExact) / 16 + 1;
  return ((number - kExact) % 16 + 16) << shift;
}

std::uint64_t SizeHistogram::Most(std::size_t number) {
  if (number < kExact) return number;
  const std::uint64_t shift = (number - kExact) / 16 + 1;
  return (((number - kExact) % 16 + 17) << shift) - 1;
}

}  // namespace forebay::stream
