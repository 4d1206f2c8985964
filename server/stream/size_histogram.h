#ifndef FOREBAY_SERVER_STREAM_SIZE_HISTOGRAM_H_
#define FOREBAY_SERVER_STREAM_SIZE_HISTOGRAM_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace forebay::stream {

// Counts sizes in classes; the sizes of a class differ by less than a
// sixteenth. Bounds the sums of the largest or the smallest sizes. Sums
// saturate at 2^62.
//
// Not thread-safe. Owns its counters. Never blocks. No errors.
class SizeHistogram {
 public:
  // Adds a size, which is at most 2^62.
  void Add(std::uint64_t size);

  std::uint64_t count() const { return count_; }
  // Returns the sum of all sizes, and the largest size.
  std::uint64_t sum() const { return sum_; }
  std::uint64_t largest() const { return largest_; }
  // Returns an upper bound of the sum of the `many` largest sizes.
  std::uint64_t SumOfLargest(std::uint64_t many) const;
  // Returns an upper bound of how many of the sizes can have a sum of at most
  // `sum`.
  std::uint64_t MostWithin(std::uint64_t sum) const;

 private:
  // Each size below 32 has a class of its own. Above, each power of two is
  // divided into 16 classes.
  static constexpr std::uint64_t kExact = 32;
  static constexpr std::size_t kClasses = kExact + 16 * 59;

  // Returns the number of a size's class.
  static std::size_t ClassOf(std::uint64_t size);
  // Return the least and the largest size of a class.
  static std::uint64_t Least(std::size_t number);
  static std::uint64_t Most(std::size_t number);

  std::array<std::uint64_t, kClasses> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t largest_ = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SIZE_HISTOGRAM_H_
