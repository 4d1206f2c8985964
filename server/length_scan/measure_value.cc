#include "server/length_scan/measure_value.h"

#include <array>
#include <string_view>
#include <variant>

#include "server/audio/any_clip_decoder.h"
#include "server/audio/clip_decoder.h"
#include "server/base/status.h"
#include "server/pipeline/array.h"
#include "server/sample/annotate_error.h"
#include "server/sample/field_decoder.h"

namespace forebay::length_scan {
namespace {

using dataset::FieldValue;
using proto::FieldKind;

// Returns the size of a value, given its bytes. If the dataset tells the type
// of an array, the array's bytes are its elements alone.
absl::StatusOr<ValueSize> SizeOf(const dataset::Field& field,
                                 absl::Span<const std::uint8_t> value) {
  if (field.kind == FieldKind::kAudio) {
    audio::AnyClipDecoder decoder;
    FOREBAY_ASSIGN_OR_RETURN(const audio::ClipInfo clip, decoder.Open(value));
    return ValueSize{.size = clip.frames, .rate = clip.sample_rate};
  }
  if (field.kind == FieldKind::kArray && !field.array.has_value()) {
    FOREBAY_ASSIGN_OR_RETURN(const pipeline::Array array,
                             pipeline::ReadArray(value));
    return ValueSize{.size = array.type.bytes, .rate = array.sample_rate};
  }
  return ValueSize{.size = value.size()};
}

}  // namespace

absl::StatusOr<ValueSize> MeasureValue(const dataset::Dataset& dataset,
                                       std::uint64_t id, std::size_t field,
                                       absl::Span<const std::uint8_t> read,
                                       dataset::DecompressionRoom room) {
  std::array<FieldValue, dataset::kMaxDatasetFields> values;
  dataset::ValueBuffers buffers(&room);
  const absl::Status found = dataset.ReadValues(
      id, read, absl::MakeSpan(values.data(), dataset.fields().size()),
      &buffers);
  if (!found.ok()) {
    return sample::AnnotateSampleError(
        dataset, id, base::Annotate(found, dataset.At(id).object));
  }
  const FieldValue& value = values[field];
  // A text of the index needs no decoding.
  if (const auto* const text = std::get_if<std::string_view>(&value))
    return ValueSize{.size = text->size()};
  const auto bytes = sample::ImageBytes(dataset, id, read, value, room);
  auto size = bytes.ok() ? SizeOf(dataset.fields()[field], *bytes)
                         : absl::StatusOr<ValueSize>(bytes.status());
  if (!size.ok())
    return sample::AnnotateFieldError(dataset, id, field, size.status());
  return size;
}

}  // namespace forebay::length_scan
