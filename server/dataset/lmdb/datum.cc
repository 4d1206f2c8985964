// A Datum is parsed twice if it has floats. The first pass checks that the
// message is well formed, and counts the floats. The second pass copies the
// floats into a buffer of exactly their size. All other content is used where
// it lies.
#include "server/dataset/lmdb/datum.h"

#include <algorithm>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/dataset/records/content_guess.h"
#include "server/dataset/records/whole_value.h"

namespace forebay::dataset::lmdb {
namespace {

using Bytes = absl::Span<const std::uint8_t>;
using protozero::pbf_wire_type;

// The numbers of Datum's fields in caffe.proto.
enum class Tag : protozero::pbf_tag_type {
  kChannels = 1,
  kHeight = 2,
  kWidth = 3,
  kData = 4,
  kLabel = 5,
  kFloatData = 6,
  kEncoded = 7,
};

Bytes ToBytes(const protozero::data_view& view) {
  return {reinterpret_cast<const std::uint8_t*>(view.data()), view.size()};
}

// Reads an int32. A negative number is a varint of ten bytes, sign-extended to
// 64 bits, so its low 32 bits are the int32.
std::int64_t TakeInteger(protozero::pbf_reader& reader) {
  return static_cast<std::int32_t>(
      static_cast<std::uint32_t>(reader.get_uint64()));
}

// Returns the bytes of the float32 numbers in the field at which the reader
// stands. Encoders may pack all numbers into one field, or write a field for
// each. Returns nothing, and reads nothing, if the field holds no floats.
std::optional<Bytes> TakeFloats(protozero::pbf_reader& reader) {
  if (static_cast<Tag>(reader.tag()) != Tag::kFloatData) return std::nullopt;
  if (reader.wire_type() == pbf_wire_type::length_delimited) {
    const Bytes run = ToBytes(reader.get_view());
    if (run.size() % sizeof(float) != 0)
      throw protozero::invalid_length_exception();
    return run;
  }
  if (reader.wire_type() != pbf_wire_type::fixed32) return std::nullopt;
  const Bytes rest = ToBytes(reader.data());
  reader.skip();
  return rest.first(sizeof(float));
}

// Reads the field at which the reader stands. Returns false, and reads nothing,
// if no Datum has such a field.
bool TakeField(protozero::pbf_reader& reader, Datum* datum) {
  const auto tag = static_cast<Tag>(reader.tag());
  const pbf_wire_type type = reader.wire_type();
  if (type == pbf_wire_type::varint) {
    switch (tag) {
      case Tag::kChannels:
        datum->channels = TakeInteger(reader);
        return true;
      case Tag::kHeight:
        datum->height = TakeInteger(reader);
        return true;
      case Tag::kWidth:
        datum->width = TakeInteger(reader);
        return true;
      case Tag::kLabel:
        datum->label = TakeInteger(reader);
        return true;
      case Tag::kEncoded:
        datum->is_encoded = reader.get_uint64() != 0;
        return true;
      default:
        return false;
    }
  }
  if (type == pbf_wire_type::length_delimited && tag == Tag::kData) {
    datum->data = ToBytes(reader.get_view());
    return true;
  }
  const auto floats = TakeFloats(reader);
  if (!floats.has_value()) return false;
  datum->float_count += floats->size() / sizeof(float);
  return true;
}

protozero::pbf_reader ReaderOf(Bytes bytes) {
  return protozero::pbf_reader(protozero::data_view(
      reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// Copies all float32 numbers to `out`, which has exactly their size. ParseDatum
// has found the message well formed, so the reader throws nothing.
void CopyFloats(const Datum& datum, absl::Span<std::uint8_t> out) {
  protozero::pbf_reader reader = ReaderOf(datum.message);
  auto at = out.begin();
  while (reader.next()) {
    if (const auto floats = TakeFloats(reader); floats.has_value()) {
      at = std::copy(floats->begin(), floats->end(), at);
    } else {
      reader.skip();
    }
  }
  FOREBAY_CHECK(at == out.end());
}

// Returns the number of elements that the shape has. Returns nothing if an
// extent is missing, or the product overflows.
std::optional<std::uint64_t> ElementsOf(const Datum& datum) {
  std::uint64_t count = 1;
  for (const std::int64_t extent :
       {datum.channels, datum.height, datum.width}) {
    if (extent <= 0) return std::nullopt;
    const auto unsigned_extent = static_cast<std::uint64_t>(extent);
    if (unsigned_extent > UINT64_MAX / count) return std::nullopt;
    count *= unsigned_extent;
  }
  return count;
}

}  // namespace

absl::StatusOr<Datum> ParseDatum(Bytes bytes) {
  Datum datum;
  datum.message = bytes;
  try {
    protozero::pbf_reader reader = ReaderOf(bytes);
    while (reader.next()) {
      if (TakeField(reader, &datum)) continue;
      datum.has_others = true;
      reader.skip();
    }
  } catch (const protozero::exception&) {
    return absl::DataLossError("is not a Datum of Caffe, or damaged");
  }
  return datum;
}

std::optional<records::ValueType> TypeOf(const Datum& datum) {
  if (datum.is_encoded) {
    return records::ValueType{.kind = proto::FieldKind::kImage};
  }
  const auto elements = ElementsOf(datum);
  if (!elements.has_value()) return std::nullopt;
  ArrayType array;
  for (const std::int64_t extent : {datum.channels, datum.height, datum.width})
    array.shape.push_back(static_cast<std::uint64_t>(extent));
  if (datum.data.size() == *elements && datum.float_count == 0) {
    array.dtype = proto::DType::kUint8;
  } else if (datum.data.empty() && datum.float_count == *elements) {
    array.dtype = proto::DType::kFloat32;
  } else {
    return std::nullopt;
  }
  return records::ValueType{.kind = proto::FieldKind::kArray,
                            .array = std::move(array)};
}

std::string DescriptionOf(const Datum& datum) {
  if (const auto type = TypeOf(datum); type.has_value()) return TextOf(*type);
  return absl::StrCat(datum.channels, " x ", datum.height, " x ", datum.width,
                      " elements, but ", datum.data.size(), " bytes and ",
                      datum.float_count, " numbers");
}

std::optional<records::ValueType> GuessDatumType(
    absl::Span<const Bytes> values) {
  std::optional<records::ValueType> type;
  for (const Bytes value : values) {
    const auto datum = ParseDatum(value);
    if (!datum.ok() || datum->has_others) return std::nullopt;
    const auto of_this = TypeOf(*datum);
    if (!of_this.has_value() || of_this != type.value_or(*of_this) ||
        (datum->is_encoded && !records::IsImage(datum->data)))
      return std::nullopt;
    type = of_this;
  }
  return type;
}

absl::StatusOr<FieldValue> ContentOf(const Datum& datum,
                                     const records::ValueType& type,
                                     Bytes record, ValueBuffers* buffers) {
  if (TypeOf(datum) != type) {
    return absl::InvalidArgumentError(
        absl::StrCat("is a Datum of ", DescriptionOf(datum),
                     ", but that of the first entry is of ", TextOf(type)));
  }
  if (datum.is_encoded && datum.data.empty()) return FieldRange{};
  // Floats beside an encoded image have no use and are ignored.
  if (datum.is_encoded || datum.float_count == 0)
    return records::WholeValue(type, record, datum.data, buffers);
  const absl::Span<std::uint8_t> room =
      buffers->Add(datum.float_count * sizeof(float));
  CopyFloats(datum, room);
  return ComputedBytes{room};
}

}  // namespace forebay::dataset::lmdb
