#ifndef FOREBAY_SERVER_LENGTH_SCAN_VALUE_SIZES_H_
#define FOREBAY_SERVER_LENGTH_SCAN_VALUE_SIZES_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"

namespace forebay::length_scan {

// The size of a sample's value of the measured field.
struct ValueSize {
  // Frames of a clip, bytes of an array's elements, or bytes of other values.
  std::uint64_t size = 0;
  std::uint32_t rate = 0;  // sample rate of a clip in Hz; 0 for other values

  bool operator==(const ValueSize&) const = default;
};

// The sizes of a field's values as they are stored, 8 bytes each.
struct ValueSizesParts {
  // For each sample: the size in the lower 44 bits, and above them the index of
  // the rate in `rates`.
  std::vector<std::uint64_t> items;
  std::vector<std::uint32_t> rates;          // all distinct rates, in Hz
  base::MemoryReservation reservation = {};  // for both vectors
};

// The sizes of a field's values, by sample. Immutable and thread-safe; owns the
// sizes and a reservation for them. Never blocks. Only Create has errors.
class ValueSizes {
 public:
  // The largest size that fits into 44 bits.
  static constexpr std::uint64_t kMostSize = (std::uint64_t{1} << 44) - 1;

  // Makes sizes from their parts, which may come from a damaged file. Fails
  // with DATA_LOSS if an item refers to a rate that does not exist.
  static absl::StatusOr<std::shared_ptr<const ValueSizes>> Create(
      ValueSizesParts parts);

  // Number of samples.
  std::uint64_t size() const { return parts_.items.size(); }
  // Returns the size of a sample's value. `sample` is less than size().
  ValueSize Of(std::uint64_t sample) const;
  const ValueSizesParts& parts() const { return parts_; }

 private:
  explicit ValueSizes(ValueSizesParts parts) : parts_(std::move(parts)) {}

  const ValueSizesParts parts_;
};

// Collects sizes, in any order of samples. Not thread-safe; owns the sizes;
// never blocks.
class ValueSizesBuilder {
 public:
  // Makes room for `samples` samples, 8 bytes each, which `reservation` covers.
  ValueSizesBuilder(std::uint64_t samples, base::MemoryReservation reservation);

  // Sets the size of a sample's value. Errors do not name the sample.
  // INVALID_ARGUMENT: the size is too large. RESOURCE_EXHAUSTED: there are too
  // many distinct rates.
  absl::Status Set(std::uint64_t sample, const ValueSize& size);
  // Returns the sizes. A size that was not set is 0. May be called once.
  ValueSizesParts Take() { return std::move(parts_); }

 private:
  // Returns the index of `rate` in `rates`. Adds the rate if it is new.
  absl::StatusOr<std::uint64_t> NumberOf(std::uint32_t rate);

  ValueSizesParts parts_;
  std::uint64_t last_ = 0;  // index of the rate that NumberOf returned last
};

}  // namespace forebay::length_scan

#endif  // FOREBAY_SERVER_LENGTH_SCAN_VALUE_SIZES_H_
