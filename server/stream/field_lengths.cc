#include "server/stream/field_lengths.h"

#include <algorithm>
#include <array>
#include <utility>

#include "server/base/check.h"

namespace forebay::stream {
namespace {

constexpr std::uint64_t kLongest = std::uint64_t{1} << 40;

using FieldBytes = std::array<std::uint64_t, dataset::kMaxDatasetFields>;

}  // namespace

FieldLengths::FieldLengths(std::shared_ptr<const dataset::Dataset> dataset,
                           std::size_t field, FieldType type)
    : dataset_(std::move(dataset)), field_(field), type_(std::move(type)) {
  FOREBAY_CHECK(type_.varies());
}

std::uint64_t FieldLengths::LengthOf(std::uint64_t sample) const {
  std::uint64_t length = 0;
  if (are_exact()) {
    FieldBytes bytes;
    dataset_->MostBytesOf(
        sample, absl::MakeSpan(bytes.data(), dataset_->fields().size()));
    length = bytes[field_];
    if (type_.ragged) length = type_.ElementsIn(length, type_.header_bytes);
  } else {
    length = dataset_->SizeOf(sample);
  }
  return std::clamp<std::uint64_t>(length, 1, kLongest);
}

}  // namespace forebay::stream
