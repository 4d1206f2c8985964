#include "server/stream/sample_room.h"

#include <algorithm>
#include <array>
#include <utility>

#include "server/base/check.h"

namespace forebay::stream {
namespace {

constexpr std::uint64_t kLongest = std::uint64_t{1} << 40;

using FieldBytes = std::array<std::uint64_t, dataset::kMaxDatasetFields>;

// Elements along the first axis of what becomes of an array, of which the index
// counts so many bytes, `header` of them before its elements.
std::uint64_t RowsOf(const FieldType& type, std::uint64_t bytes,
                     std::uint64_t header) {
  const pipeline::ArrayType& input = type.pipeline->input();
  const std::uint64_t most = type.value.shape.front();
  if (!input.ragged_axis.has_value()) return most;
  const std::uint64_t in = input.tensor.shape[*input.ragged_axis];
  const std::uint64_t each = in == 0 ? 0 : input.tensor.bytes / in;
  if (each == 0) return most;
  return std::min(most, bytes > header ? (bytes - header) / each : 0);
}

// The format pads a file's header to as many bytes at least.
constexpr std::uint64_t kLeastHeader = 64;

}  // namespace

SampleRoom::SampleRoom(std::shared_ptr<const dataset::Dataset> dataset,
                       std::vector<FieldType> fields)
    : dataset_(std::move(dataset)), fields_(std::move(fields)) {
  FOREBAY_CHECK(fields_.size() == dataset_->fields().size());
}

void SampleRoom::BytesOf(std::uint64_t sample,
                         absl::Span<std::uint64_t> bytes) const {
  dataset_->MostBytesOf(sample, bytes);
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const FieldType& type = fields_[i];
    if (!type.varies()) {
      bytes[i] = 0;
    } else if (type.ragged) {
      const std::uint64_t longest = type.value.shape.front();
      const std::uint64_t each = longest == 0 ? 0 : type.value.bytes / longest;
      const bool has_header = type.header_bytes > 0;
      bytes[i] = each * RowsOf(type, bytes[i], has_header ? kLeastHeader : 0);
    }
  }
}

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
    if (type_.ragged) length = RowsOf(type_, length, type_.header_bytes);
  } else {
    length = dataset_->At(sample).length;
  }
  return std::clamp<std::uint64_t>(length, 1, kLongest);
}

}  // namespace forebay::stream
