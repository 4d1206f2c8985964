#ifndef FOREBAY_SERVER_SURVEY_VALUE_SIZES_H_
#define FOREBAY_SERVER_SURVEY_VALUE_SIZES_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"

namespace forebay::survey {

// How much a sample has of a field.
struct ValueSize {
  // Frames of a clip; of an array, bytes of its elements; else bytes.
  std::uint64_t size = 0;
  std::uint32_t rate = 0;  // of a clip, in Hz; else 0

  bool operator==(const ValueSize&) const = default;
};

// Sizes as they are stored: in 8 bytes each.
struct ValueSizesParts {
  std::vector<std::uint64_t> items;  // by sample: a size and a rate's number
  std::vector<std::uint32_t> rates;  // all that there are, in Hz
  base::MemoryReservation reservation = {};
};

// The sizes of a field's values, by sample. Immutable and thread-safe; owns
// them. Never blocks. Errors: only Create's.
class ValueSizes {
 public:
  static constexpr std::uint64_t kMostSize = (std::uint64_t{1} << 44) - 1;

  // DATA_LOSS: an item has a rate that is none of the rates.
  static absl::StatusOr<std::shared_ptr<const ValueSizes>> Create(
      ValueSizesParts parts);

  std::uint64_t size() const { return parts_.items.size(); }
  // `sample` is less than size().
  ValueSize Of(std::uint64_t sample) const;
  const ValueSizesParts& parts() const { return parts_; }

 private:
  explicit ValueSizes(ValueSizesParts parts) : parts_(std::move(parts)) {}

  const ValueSizesParts parts_;
};

// Puts sizes together, in any order. Not thread-safe; owns them; never blocks.
class ValueSizesBuilder {
 public:
  // Takes 8 bytes for each of so many samples, which the reservation is for.
  ValueSizesBuilder(std::uint64_t samples, base::MemoryReservation reservation);

  // INVALID_ARGUMENT: it is too large; RESOURCE_EXHAUSTED: there are too many
  // rates. Both give the reason alone.
  absl::Status Set(std::uint64_t sample, const ValueSize& size);
  // All that were set; the others are 0.
  ValueSizesParts Take() { return std::move(parts_); }

 private:
  absl::StatusOr<std::uint64_t> NumberOf(std::uint32_t rate);

  ValueSizesParts parts_;
  std::uint64_t last_ = 0;  // number of the rate that was wanted last
};

}  // namespace forebay::survey

#endif  // FOREBAY_SERVER_SURVEY_VALUE_SIZES_H_
