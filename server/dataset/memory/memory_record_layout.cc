#include "server/dataset/memory/memory_record_layout.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/raw_image.h"
#include "proto/shm_layout.h"
#include "server/base/status.h"

namespace forebay::dataset::memory {
namespace {

// Bounds the bytes of one field, so that the sum over all fields of a record
// does not overflow 64 bits.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 56;
// The most dimensions of a sample: a batch has one dimension more.
constexpr int kMaxDimensions = static_cast<int>(proto::kMaxRank) - 1;

// Returns the number of bytes of all elements of a field's shape, with
// `bytes_each` bytes for each element.
absl::StatusOr<std::uint64_t> BytesOf(const proto::ArrayField& field,
                                      std::uint64_t bytes_each) {
  std::uint64_t bytes = bytes_each;
  for (const std::uint64_t extent : field.shape()) {
    // Every extent is checked, even if another extent is 0 and there are no
    // elements: later code multiplies the extents of only some axes.
    if (extent > kMaxBytes || __builtin_mul_overflow(bytes, extent, &bytes) ||
        bytes > kMaxBytes) {
      return absl::InvalidArgumentError("its shape is too large");
    }
  }
  return bytes;
}

// Returns the size in bytes of an image of uint8 pixels in a record: a
// RawImageHeader and then the pixels.
absl::StatusOr<std::uint64_t> ImageBytes(const proto::ArrayField& field) {
  const auto& shape = field.shape();
  if (shape.size() != 3 || shape[0] == 0 || shape[0] > UINT32_MAX ||
      shape[1] == 0 || shape[1] > UINT32_MAX ||
      (shape[2] != 1 && shape[2] != 3)) {
    return absl::InvalidArgumentError(
        "an image has a height, a width and 1 or 3 channels");
  }
  FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t pixels, BytesOf(field, 1));
  return sizeof(proto::RawImageHeader) + pixels;
}

// Returns the size in bytes of an array in a record, after checks of its type
// and rank.
absl::StatusOr<std::uint64_t> ArrayBytes(const proto::ArrayField& field) {
  const std::uint64_t bytes_each =
      proto::SizeOf(static_cast<proto::DType>(field.dtype()));
  if (bytes_each == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data type ", static_cast<int>(field.dtype()), " is not known"));
  }
  if (field.shape_size() > kMaxDimensions) {
    return absl::InvalidArgumentError(
        absl::StrCat("a sample has at most ", kMaxDimensions, " dimensions"));
  }
  return BytesOf(field, bytes_each);
}

// Returns the size in bytes of a field in a record. A label is a 64-bit
// integer.
absl::StatusOr<std::uint64_t> LengthOf(const proto::ArrayField& field) {
  switch (field.kind()) {
    case proto::ArrayField::IMAGE:
      return ImageBytes(field);
    case proto::ArrayField::LABEL:
      return sizeof(std::int64_t);
    case proto::ArrayField::ARRAY:
      return ArrayBytes(field);
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "kind ", static_cast<int>(field.kind()), " is not known"));
  }
}

proto::FieldKind KindOf(proto::ArrayField::Kind kind) {
  return kind == proto::ArrayField::IMAGE   ? proto::FieldKind::kImage
         : kind == proto::ArrayField::LABEL ? proto::FieldKind::kLabel
                                            : proto::FieldKind::kArray;
}

}  // namespace

absl::Status MemoryRecordLayout::Add(const proto::ArrayField& field) {
  const std::string& name = field.name();
  if (!IsFieldName(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a field's name has 1 to ", proto::kMaxFieldName - 1, " bytes"));
  }
  const auto length = LengthOf(field);
  if (!length.ok()) return base::Annotate(length.status(), name);
  fields_.push_back(
      {.name = name, .kind = KindOf(field.kind()), .longest = *length});
  if (field.kind() == proto::ArrayField::ARRAY) {
    fields_.back().array =
        ArrayType{.dtype = static_cast<proto::DType>(field.dtype()),
                  .shape = {field.shape().begin(), field.shape().end()}};
  }
  parts_.push_back({.offset = record_bytes_, .length = *length});
  record_bytes_ += *length;
  return absl::OkStatus();
}

absl::StatusOr<MemoryRecordLayout> MemoryRecordLayout::Create(
    const Fields& fields, std::uint64_t samples, std::uint32_t host_fields) {
  const auto count = static_cast<std::size_t>(fields.size());
  if (count == 0 || count > kMaxDatasetFields) {
    return absl::InvalidArgumentError(absl::StrCat(
        "samples in memory have 1 to ", kMaxDatasetFields, " fields"));
  }
  MemoryRecordLayout layout;
  layout.samples_ = samples;
  for (const proto::ArrayField& field : fields) {
    FOREBAY_RETURN_IF_ERROR(layout.Add(field));
    layout.fields_.back().on_host = layout.fields_.size() <= host_fields;
  }
  return layout;
}

absl::Status MemoryRecordLayout::CheckBytes(std::uint64_t bytes) const {
  std::uint64_t expected = 0;
  if (!__builtin_mul_overflow(record_bytes_, samples_, &expected) &&
      expected == bytes)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(samples_, " samples of ", record_bytes_,
                   " bytes are not the ", bytes, " bytes that came"));
}

}  // namespace forebay::dataset::memory
