#include "server/stream/field_lengths.h"

#include <algorithm>
#include <array>
#include <utility>

#include "server/base/check.h"

namespace forebay::stream {

std::uint64_t LengthOf(const pipeline::Outcome& outcome, LengthUnit unit) {
  std::uint64_t length = outcome.length;
  if (unit == LengthUnit::kTime) {
    const std::uint64_t rate = std::max(outcome.rate, std::uint32_t{1});
    const unsigned __int128 units =
        static_cast<unsigned __int128>(outcome.frames) * kUnitsPerSecond;
    length = static_cast<std::uint64_t>(
        std::min<unsigned __int128>((units + rate - 1) / rate, kLongestLength));
  }
  return std::clamp<std::uint64_t>(length, 1, kLongestLength);
}

bool IndexHasLengths(const dataset::Dataset& dataset, const FieldType& type) {
  return !dataset.is_self_describing() && !type.is_clip();
}

FieldLengths::FieldLengths(std::shared_ptr<const dataset::Dataset> dataset,
                           std::size_t field, FieldType type,
                           std::shared_ptr<const length_scan::ValueSizes> sizes,
                           LengthUnit unit)
    : dataset_(std::move(dataset)),
      field_(field),
      type_(std::move(type)),
      sizes_(std::move(sizes)),
      unit_(unit) {
  FOREBAY_CHECK(type_.varies());
  FOREBAY_CHECK(sizes_ == nullptr || sizes_->size() == dataset_->size());
}

std::uint64_t FieldLengths::LengthOf(std::uint64_t sample) const {
  if (sizes_ != nullptr)
    return stream::LengthOf(type_.OutcomeOf(sizes_->Of(sample)), unit_);
  std::array<std::uint64_t, dataset::kMaxDatasetFields> bytes;
  dataset_->MostBytesOf(
      sample, absl::MakeSpan(bytes.data(), dataset_->fields().size()));
  std::uint64_t length = bytes[field_];
  if (type_.ragged) length = type_.ElementsIn(length, type_.header_bytes);
  return std::clamp<std::uint64_t>(length, 1, kLongestLength);
}

}  // namespace forebay::stream
