// A field's value comes in one of five forms (dataset::FieldValue): an integer
// or a text that the index knows, a range of the bytes read, bytes made of the
// bytes read, or a compressed range. DecodeFields turns each form into a call
// of the target. Images are passed on undecoded, since the target may find them
// decoded in a cache.
#include "server/sample/field_decoder.h"

#include <array>
#include <string_view>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/pipeline/decode/integer_text.h"
#include "server/pipeline/decode/utf8_text.h"
#include "server/pipeline/tiff_array.h"
#include "server/sample/annotate_error.h"

namespace forebay::sample {
namespace {

using proto::FieldKind;

// Returns the error of a kind of field or value that datasets never have.
absl::Status NoSuchField() {
  return absl::InternalError("is a field that no dataset has");
}

// Passes a text to the target. Fails if the text is not valid UTF-8.
absl::Status DecodeText(std::size_t field, absl::Span<const std::uint8_t> bytes,
                        FieldTarget& target) {
  FOREBAY_RETURN_IF_ERROR(pipeline::decode::DecodeText(bytes).status());
  target.SetBytes(field, bytes);
  return absl::OkStatus();
}

// Passes to the target an array whose bytes are only its elements. If the array
// has rows, the number of bytes tells the number of rows.
absl::Status DecodeElements(const dataset::Field& type, std::size_t field,
                            absl::Span<const std::uint8_t> elements,
                            FieldTarget& target) {
  if (!type.has_rows) return target.SetElements(field, elements);
  pipeline::Array array;
  array.type = {.dtype = type.array->dtype,
                .shape = type.array->shape,
                .bytes = elements.size()};
  array.type.shape.insert(array.type.shape.begin(),
                          elements.size() / dataset::BytesOf(*type.array));
  array.items = elements;
  return target.SetArray(field, array);
}

// Decodes a value, given its bytes. The value is not an image.
absl::Status DecodeBytes(const dataset::Field& type, std::size_t field,
                         absl::Span<const std::uint8_t> bytes,
                         FieldTarget& target) {
  switch (type.kind) {
    case FieldKind::kLabel: {
      FOREBAY_ASSIGN_OR_RETURN(const std::int64_t number,
                               pipeline::decode::DecodeInteger(bytes));
      target.SetNumber(field, number);
      return absl::OkStatus();
    }
    case FieldKind::kText:
    case FieldKind::kJson:
      return DecodeText(field, bytes, target);
    case FieldKind::kBytes:
      target.SetBytes(field, bytes);
      return absl::OkStatus();
    case FieldKind::kArray: {
      if (type.array.has_value())
        return DecodeElements(type, field, bytes, target);
      if (pipeline::IsTiff(bytes)) return target.SetTiff(field, bytes);
      FOREBAY_ASSIGN_OR_RETURN(const pipeline::Array array,
                               pipeline::ReadArray(bytes));
      return target.SetArray(field, array);
    }
    case FieldKind::kAudio:
      return target.SetAudio(field, bytes);
    case FieldKind::kImage:
    case FieldKind::kSampleId:
      break;
  }
  return NoSuchField();
}

// Decodes a value. If the index has the value, passes it on.
absl::Status DecodeField(const dataset::Field& type, std::size_t field,
                         const dataset::FieldValue& value,
                         absl::Span<const std::uint8_t> read,
                         FieldTarget& target) {
  if (type.kind == FieldKind::kImage) return target.SetImage(field, value);
  if (const auto* const number = std::get_if<std::int64_t>(&value)) {
    target.SetNumber(field, *number);
    return absl::OkStatus();
  }
  if (const auto* const text = std::get_if<std::string_view>(&value)) {
    return DecodeText(
        field,
        {reinterpret_cast<const std::uint8_t*>(text->data()), text->size()},
        target);
  }
  if (const auto* const computed = std::get_if<dataset::ComputedBytes>(&value))
    return DecodeBytes(type, field, computed->bytes, target);
  const auto* const range = std::get_if<dataset::FieldRange>(&value);
  if (range == nullptr) return NoSuchField();
  FOREBAY_ASSIGN_OR_RETURN(const auto bytes, BytesOf(read, *range));
  return DecodeBytes(type, field, bytes, target);
}

// Decompresses a clip, and decodes it.
absl::Status DecodeCompressed(const dataset::Dataset& dataset, std::uint64_t id,
                              std::size_t field,
                              const dataset::FieldValue& value,
                              absl::Span<const std::uint8_t> read,
                              dataset::ValueBuffers& buffers,
                              FieldTarget& target) {
  FOREBAY_ASSIGN_OR_RETURN(
      const auto bytes,
      ImageBytes(dataset, id, read, value, [&buffers](std::uint64_t length) {
        return buffers.AddDecompressed(length);
      }));
  return DecodeBytes(dataset.fields()[field], field, bytes, target);
}

}  // namespace

absl::StatusOr<absl::Span<const std::uint8_t>> BytesOf(
    absl::Span<const std::uint8_t> read, const dataset::FieldRange& range) {
  if (range.offset > read.size() || range.length > read.size() - range.offset) {
    return absl::DataLossError(absl::StrCat("has only ", read.size(), " of ",
                                            range.offset + range.length,
                                            " bytes"));
  }
  return read.subspan(range.offset, range.length);
}

absl::StatusOr<absl::Span<const std::uint8_t>> ImageBytes(
    const dataset::Dataset& dataset, std::uint64_t id,
    absl::Span<const std::uint8_t> read, const dataset::FieldValue& image,
    dataset::DecompressionRoom room) {
  if (const auto* const range = std::get_if<dataset::FieldRange>(&image))
    return BytesOf(read, *range);
  if (const auto* const computed = std::get_if<dataset::ComputedBytes>(&image))
    return computed->bytes;
  const auto* const compressed = std::get_if<dataset::CompressedRange>(&image);
  if (compressed == nullptr) return NoSuchField();
  FOREBAY_ASSIGN_OR_RETURN(const auto bytes, BytesOf(read, compressed->range));
  return dataset.Decompress(id, bytes, room);
}

absl::Status DecodeFields(const dataset::Dataset& dataset, std::uint64_t id,
                          absl::Span<const std::uint8_t> read,
                          dataset::ValueBuffers& buffers, FieldTarget& target) {
  const std::vector<dataset::Field>& fields = dataset.fields();
  std::array<dataset::FieldValue, dataset::kMaxDatasetFields> values;
  const absl::Status found = dataset.ReadValues(
      id, read, absl::MakeSpan(values.data(), fields.size()), &buffers);
  if (!found.ok()) {
    return AnnotateSampleError(dataset, id,
                               base::Annotate(found, dataset.At(id).object));
  }
  // Images come last: decoding an image overwrites the memory into which other
  // values may have been decompressed.
  for (const bool are_images : {false, true}) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if ((fields[i].kind == FieldKind::kImage) != are_images) continue;
      const bool is_packed_clip =
          fields[i].kind == FieldKind::kAudio &&
          std::holds_alternative<dataset::CompressedRange>(values[i]);
      const absl::Status status =
          is_packed_clip ? DecodeCompressed(dataset, id, i, values[i], read,
                                            buffers, target)
                         : DecodeField(fields[i], i, values[i], read, target);
      if (!status.ok()) return AnnotateFieldError(dataset, id, i, status);
    }
  }
  return absl::OkStatus();
}

}  // namespace forebay::sample
