// An MDS sample consists of the sizes of its values and then the values. Sizes
// are u32. Columns with a fixed size in the configuration have no size in the
// sample. Sizes and values are in the order of the columns.
//
// A value of the encoding "ndarray" begins with a header. The encoding may tell
// the type, or the type and the shape ("ndarray:float32:3,4"). The header has
// only the parts that the encoding does not tell:
//
// type   u8, a number of kTypes
// shape  u8: 4 * rank + log2 of the bytes of an extent; then the extents
//
// All numbers are little-endian.
#include "server/dataset/mds/mds_columns.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/shown_name.h"

namespace forebay::dataset::mds {
namespace {

static_assert(std::endian::native == std::endian::little);

using Bytes = absl::Span<const std::uint8_t>;
using Json = nlohmann::json;
using proto::DType;
using proto::FieldKind;

// The version of the format that can be read.
constexpr int kVersion = 2;
// The most bytes of one array. Up to this bound, products of extents do not
// overflow.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;

// The kind of field that each encoding becomes.
struct KindName {
  std::string_view encoding;
  FieldKind kind;
  bool in_digits = false;
};
constexpr KindName kKinds[] = {
    {"bytes", FieldKind::kBytes},         {"str", FieldKind::kText},
    {"str_float", FieldKind::kText},      {"str_decimal", FieldKind::kText},
    {"str_int", FieldKind::kLabel, true}, {"int", FieldKind::kLabel},
    {"int64", FieldKind::kLabel},         {"jpeg", FieldKind::kImage},
    {"png", FieldKind::kImage},           {"json", FieldKind::kJson},
};

// The types of arrays. `number` stands for the type in an array's header.
struct TypeName {
  std::string_view name;
  DType dtype;
  std::uint8_t number;
};
constexpr TypeName kTypes[] = {
    {"uint8", DType::kUint8, 8},      {"int8", DType::kInt8, 9},
    {"uint16", DType::kUint16, 16},   {"int16", DType::kInt16, 17},
    {"float16", DType::kFloat16, 18}, {"uint32", DType::kUint32, 32},
    {"int32", DType::kInt32, 33},     {"float32", DType::kFloat32, 34},
    {"uint64", DType::kUint64, 64},   {"int64", DType::kInt64, 65},
    {"float64", DType::kFloat64, 66},
};

// Returns the type that encodings call `name`. Returns nothing if there is no
// such type.
std::optional<DType> TypeOf(std::string_view name) {
  for (const TypeName& type : kTypes) {
    if (type.name == name) return type.dtype;
  }
  return std::nullopt;
}

// Parses an encoding "ndarray", "ndarray:float32" or "ndarray:float32:3,4".
// Returns nothing for any other encoding.
std::optional<ArrayEncoding> ParseArray(const std::string& encoding) {
  const std::vector<std::string> parts = absl::StrSplit(encoding, ':');
  if (parts[0] != "ndarray" || parts.size() > 3) return std::nullopt;
  ArrayEncoding array;
  if (parts.size() >= 2) {
    array.dtype = TypeOf(parts[1]);
    if (!array.dtype.has_value()) return std::nullopt;
  }
  if (parts.size() == 3) {
    array.shape.emplace();
    std::uint64_t bytes = proto::SizeOf(*array.dtype);
    for (const std::string& text :
         std::vector<std::string>(absl::StrSplit(parts[2], ','))) {
      std::uint64_t extent = 0;
      if (!absl::SimpleAtoi(text, &extent) || extent == 0 ||
          extent > kMostBytes / bytes) {
        return std::nullopt;
      }
      bytes *= extent;
      array.shape->push_back(extent);
    }
    if (array.shape->size() >= proto::kMaxRank) return std::nullopt;
  }
  return array;
}

// Returns a column with the given name, encoding and size in bytes.
MdsColumn ColumnOf(std::string name, std::string encoding, std::uint32_t size) {
  MdsColumn column{.name = std::move(name),
                   .encoding = std::move(encoding),
                   .size = size,
                   .kind = FieldKind::kSampleId,
                   .array = std::nullopt};
  // An encoding may name the quality of its JPEGs, as in "jpeg:90".
  const std::string_view known = column.encoding.starts_with("jpeg:")
                                     ? std::string_view("jpeg")
                                     : std::string_view(column.encoding);
  const auto* const kind =
      std::find_if(std::begin(kKinds), std::end(kKinds),
                   [&](const KindName& one) { return one.encoding == known; });
  if (kind != std::end(kKinds)) {
    column.kind = kind->kind;
    column.in_digits = kind->in_digits;
  } else if (const auto number = TypeOf(column.encoding)) {
    column.array = ArrayEncoding{.dtype = number, .shape = {{}}};
  } else {
    column.array = ParseArray(column.encoding);
  }
  if (column.array.has_value()) column.kind = FieldKind::kArray;
  return column;
}

absl::Status NoConfiguration() {
  return absl::DataLossError(
      "is not an MDS shard, or its configuration is damaged");
}

// Reads the columns of a configuration. Throws Json::exception if a member is
// missing or of another type.
absl::StatusOr<std::vector<MdsColumn>> ColumnsOf(const Json& config) {
  if (config.at("format") != "mds") return NoConfiguration();
  if (config.at("version") != kVersion) {
    return absl::UnimplementedError(
        absl::StrCat("is an MDS shard of another version than ", kVersion,
                     ", which alone can be read"));
  }
  const Json& names = config.at("column_names");
  const Json& encodings = config.at("column_encodings");
  const Json& sizes = config.at("column_sizes");
  if (names.size() != encodings.size() || names.size() != sizes.size())
    return NoConfiguration();
  std::vector<MdsColumn> columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Json& size = sizes.at(i);
    if (!size.is_null() && (!size.is_number_unsigned() || size > UINT32_MAX))
      return NoConfiguration();
    columns.push_back(ColumnOf(names.at(i).get<std::string>(),
                               encodings.at(i).get<std::string>(),
                               size.is_null() ? 0 : size.get<std::uint32_t>()));
  }
  // Fields are identified by their names, so names must differ.
  std::set<std::string_view> different;
  for (const MdsColumn& column : columns) different.insert(column.name);
  if (columns.empty() || different.size() < columns.size())
    return NoConfiguration();
  return columns;
}

std::uint64_t LoadNumber(const std::uint8_t* bytes, std::size_t size) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes, size);
  return number;
}

absl::Status Malformed() {
  return absl::DataLossError("is an array with a damaged header");
}

// Removes the shape from the front of an array's header, and returns it.
absl::StatusOr<std::vector<std::uint64_t>> TakeShape(Bytes* part) {
  if (part->empty()) return Malformed();
  const std::size_t rank = part->front() >> 2;
  const std::size_t width = std::size_t{1} << (part->front() & 3);
  part->remove_prefix(1);
  if (rank == 0 || rank >= proto::kMaxRank || part->size() < rank * width)
    return Malformed();
  std::vector<std::uint64_t> shape;
  for (std::size_t i = 0; i < rank; ++i)
    shape.push_back(LoadNumber(part->data() + i * width, width));
  part->remove_prefix(rank * width);
  return shape;
}

// Removes the type from the front of an array's header, and returns it.
absl::StatusOr<DType> TakeType(Bytes* part) {
  if (part->empty()) return Malformed();
  const std::uint8_t number = part->front();
  part->remove_prefix(1);
  for (const TypeName& type : kTypes) {
    if (type.number == number) return type.dtype;
  }
  return Malformed();
}

}  // namespace

absl::StatusOr<std::vector<MdsColumn>> ParseColumns(std::string_view json) {
  try {
    return ColumnsOf(Json::parse(json));
  } catch (const Json::exception&) {
    return NoConfiguration();
  }
}

absl::Status SplitSample(absl::Span<const MdsColumn> columns, Bytes sample,
                         absl::Span<FieldRange> parts) {
  FOREBAY_CHECK(parts.size() == columns.size());
  const auto sizes = static_cast<std::uint64_t>(
      std::count_if(columns.begin(), columns.end(),
                    [](const MdsColumn& column) { return column.size == 0; }));
  // The values begin after all sizes.
  std::uint64_t at = sizes * sizeof(std::uint32_t);
  const std::uint8_t* size = sample.data();
  if (at > sample.size()) return absl::DataLossError("is a damaged sample");
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::uint64_t length = columns[i].size;
    if (length == 0) {
      length = LoadNumber(size, sizeof(std::uint32_t));
      size += sizeof(std::uint32_t);
    }
    if (length > sample.size() - at) {
      return absl::DataLossError(absl::StrCat(ShownName(columns[i].name),
                                              ": has ", length,
                                              " bytes, more than the sample"));
    }
    parts[i] = {at, length};
    at += length;
  }
  if (at != sample.size()) {
    return absl::DataLossError(
        absl::StrCat("has ", sample.size() - at, " bytes behind its columns"));
  }
  return absl::OkStatus();
}

bool MayBe(const MdsColumn& column, FieldKind kind) {
  if (kind == column.kind) return kind != FieldKind::kSampleId;
  switch (column.kind) {
    case FieldKind::kImage:
      return kind == FieldKind::kBytes;
    case FieldKind::kBytes:
      return kind == FieldKind::kImage || kind == FieldKind::kAudio ||
             kind == FieldKind::kText || kind == FieldKind::kJson ||
             kind == FieldKind::kArray;
    default:
      return false;
  }
}

absl::StatusOr<ArrayPart> ReadArrayPart(const ArrayEncoding& encoding,
                                        Bytes part) {
  ArrayPart array;
  if (encoding.dtype.has_value()) {
    array.type.dtype = *encoding.dtype;
  } else {
    FOREBAY_ASSIGN_OR_RETURN(array.type.dtype, TakeType(&part));
  }
  if (encoding.shape.has_value()) {
    array.type.shape = *encoding.shape;
  } else {
    FOREBAY_ASSIGN_OR_RETURN(array.type.shape, TakeShape(&part));
  }
  std::uint64_t bytes = proto::SizeOf(array.type.dtype);
  for (const std::uint64_t extent : array.type.shape) {
    // Writers refuse arrays without elements, so an extent of 0 is damage.
    if (extent == 0 || extent > kMostBytes / bytes) return Malformed();
    bytes *= extent;
  }
  if (bytes != part.size()) {
    return absl::DataLossError(absl::StrCat("is an array of ", part.size(),
                                            " bytes instead of ", bytes));
  }
  array.elements = part;
  return array;
}

}  // namespace forebay::dataset::mds
