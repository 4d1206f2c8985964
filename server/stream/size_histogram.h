#ifndef FOREBAY_SERVER_STREAM_SIZE_HISTOGRAM_H_
#define FOREBAY_SERVER_STREAM_SIZE_HISTOGRAM_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace forebay::stream {

// Counts sizes in classes of sizes that differ by less than a sixteenth, and
// bounds sums of some of them. Sums end at 2^62. Not thread-safe. Never blocks;
// no errors.
class SizeHistogram {
 public:
  // `size` is at most 2^62.
  void Add(std::uint64_t size);

  std::uint64_t count() const { return count_; }
  // The sum of all, and the largest.
  std::uint64_t sum() const { return sum_; }
  std::uint64_t largest() const { return largest_; }
  // At least the sum of so many of the largest.
  std::uint64_t SumOfLargest(std::uint64_t many) const;
  // At least the number of sizes whose sum is no more than `sum`.
  std::uint64_t MostWithin(std::uint64_t sum) const;

 private:
  // Sizes below have a class each; the next ones, sixteen for each power of 2.
  static constexpr std::uint64_t kExact = 32;
  static constexpr std::size_t kClasses = kExact + 16 * 59;

  static std::size_t ClassOf(std::uint64_t size);
  // The sizes of a class.
  static std::uint64_t Least(std::size_t number);
  static std::uint64_t Most(std::size_t number);

  std::array<std::uint64_t, kClasses> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t largest_ = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SIZE_HISTOGRAM_H_
