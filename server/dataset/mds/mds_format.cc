// The text() of a format is JSON with the columns, in the syntax of a shard's
// configuration, and the fields. The text is stored in indexes on disk, which
// are untrusted. Parse therefore checks each chosen column as if a client had
// sent it.
//
// A sample is split into its values whenever it is read, since a sample begins
// with the sizes of its values. Integers of eight bytes become numbers, arrays
// are copied to aligned memory, and all other values stay ranges of the sample.
#include "server/dataset/mds/mds_format.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/status.h"
#include "server/dataset/mds/mds_shard.h"

namespace forebay::dataset::mds {
namespace {

using Json = nlohmann::json;
using proto::FieldKind;

constexpr std::size_t kIntegerBytes = sizeof(std::int64_t);

// Returns the text() of a format. Writes the columns as a shard's configuration
// has them, so that ParseColumns can read them.
std::string TextOf(const std::vector<MdsColumn>& columns,
                   const std::vector<ChosenColumn>& chosen) {
  Json text = {{"format", "mds"}, {"version", 2}};
  for (const MdsColumn& column : columns) {
    text["column_names"].push_back(column.name);
    text["column_encodings"].push_back(column.encoding);
    text["column_sizes"].push_back(column.size == 0 ? Json()
                                                    : Json(column.size));
  }
  for (const ChosenColumn& one : chosen) {
    text["fields"].push_back(
        {{"column", one.column},
         {"kind", static_cast<std::uint32_t>(one.kind)},
         {"dtype", static_cast<std::uint32_t>(one.array.dtype)},
         {"shape", one.array.shape},
         {"rows", one.has_rows}});
  }
  return text.dump(-1, ' ', true, Json::error_handler_t::replace);
}

// The most bytes of a row of an array. Up to this bound, products of extents do
// not overflow.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;

// Whether the array type of `chosen` agrees with the encoding, and has at most
// kMostBytes bytes. If the encoding does not tell the shape, the arrays have
// rows.
bool IsArray(const ArrayEncoding& encoding, const ChosenColumn& chosen) {
  std::uint64_t bytes = proto::SizeOf(chosen.array.dtype);
  for (const std::uint64_t extent : chosen.array.shape) {
    if (extent == 0 || extent > kMostBytes / bytes) return false;
    bytes *= extent;
  }
  const std::size_t rank = chosen.array.shape.size() + chosen.has_rows;
  return rank < proto::kMaxRank &&
         encoding.dtype.value_or(chosen.array.dtype) == chosen.array.dtype &&
         (encoding.shape.has_value()
              ? !chosen.has_rows && *encoding.shape == chosen.array.shape
              : chosen.has_rows);
}

// Whether `chosen`, which may come from an untrusted index file, fits its
// column.
bool Fits(const MdsColumn& column, const ChosenColumn& chosen) {
  if (!IsFieldName(column.name) || proto::SizeOf(chosen.array.dtype) == 0)
    return false;
  if (column.array.has_value() && chosen.kind == FieldKind::kArray)
    return IsArray(*column.array, chosen);
  return !chosen.has_rows && chosen.array.shape.empty() &&
         MayBe(column, chosen.kind);
}

// Reads the chosen columns from text(). Returns an empty list if one of them
// does not fit its column. Throws Json::exception if a member is missing.
std::vector<ChosenColumn> ChosenOf(const Json& fields,
                                   const std::vector<MdsColumn>& columns) {
  std::vector<ChosenColumn> chosen;
  std::set<std::size_t> different;
  for (const Json& field : fields) {
    ChosenColumn one;
    field.at("column").get_to(one.column);
    one.kind = static_cast<FieldKind>(field.at("kind").get<std::uint32_t>());
    one.array.dtype =
        static_cast<proto::DType>(field.at("dtype").get<std::uint32_t>());
    field.at("shape").get_to(one.array.shape);
    field.at("rows").get_to(one.has_rows);
    if (one.column >= columns.size() || !Fits(columns[one.column], one) ||
        !different.insert(one.column).second)
      return {};
    chosen.push_back(std::move(one));
  }
  return chosen;
}

// Describes an array in errors, such as "(5, 3) of 4 bytes each".
std::string Describe(const ArrayType& type) {
  return absl::StrCat("(", absl::StrJoin(type.shape, ", "), ") of ",
                      proto::SizeOf(type.dtype), " bytes each");
}

}  // namespace

MdsFormat::MdsFormat(std::vector<MdsColumn> columns,
                     std::vector<ChosenColumn> chosen)
    : columns_(std::move(columns)),
      chosen_(std::move(chosen)),
      text_(TextOf(columns_, chosen_)) {}

absl::StatusOr<std::shared_ptr<const MdsFormat>> MdsFormat::Parse(
    std::string_view text) {
  auto columns = ParseColumns(text);
  std::vector<ChosenColumn> chosen;
  try {
    if (columns.ok())
      chosen = ChosenOf(Json::parse(text).at("fields"), *columns);
  } catch (const Json::exception&) {
    chosen.clear();
  }
  if (chosen.empty() || chosen.size() > kMaxDatasetFields)
    return absl::DataLossError("is of records that are not MDS samples");
  return std::make_shared<const MdsFormat>(*std::move(columns),
                                           std::move(chosen));
}

absl::StatusOr<std::unique_ptr<records::RecordParser>> MdsFormat::Parse(
    const storage::ListedObject& file, const ReadSizes& read_sizes,
    base::WorkingMemory* memory) const {
  return std::make_unique<MdsShardParser>(file, read_sizes, &columns_, memory);
}

std::vector<Field> MdsFormat::FieldsOf(
    const records::RecordIndex& index) const {
  std::vector<Field> fields;
  for (const ChosenColumn& one : chosen_) {
    const MdsColumn& column = columns_[one.column];
    Field field{.name = column.name,
                .kind = one.kind,
                .longest = column.size == 0 ? index.longest() : column.size};
    if (column.array.has_value()) {
      const std::uint64_t bytes = BytesOf(one.array);
      field.array = one.array;
      field.has_rows = one.has_rows;
      // No array with rows is longer than the longest sample, rounded down to
      // whole rows.
      field.longest =
          one.has_rows
              ? std::max(field.longest / bytes, std::uint64_t{1}) * bytes
              : bytes;
    } else if (one.kind == FieldKind::kLabel && !column.in_digits) {
      field.longest = kIntegerBytes;
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

absl::Status MdsFormat::ReadValues(absl::Span<const std::uint8_t> record,
                                   absl::Span<FieldValue> values,
                                   ValueBuffers* buffers) const {
  std::vector<FieldRange> parts(columns_.size());
  FOREBAY_RETURN_IF_ERROR(SplitSample(columns_, record, absl::MakeSpan(parts)));
  for (std::size_t i = 0; i < chosen_.size(); ++i) {
    const std::size_t column = chosen_[i].column;
    auto value = ReadValue(chosen_[i], record, parts[column], buffers);
    if (!value.ok())
      return base::Annotate(value.status(), columns_[column].name);
    values[i] = *std::move(value);
  }
  return absl::OkStatus();
}

absl::StatusOr<FieldValue> MdsFormat::ReadValue(
    const ChosenColumn& chosen, absl::Span<const std::uint8_t> record,
    const FieldRange& part, ValueBuffers* buffers) const {
  const MdsColumn& column = columns_[chosen.column];
  const auto bytes = record.subspan(part.offset, part.length);
  if (chosen.kind == FieldKind::kLabel && !column.in_digits) {
    if (bytes.size() != kIntegerBytes)
      return absl::DataLossError("is not an integer of eight bytes");
    std::int64_t number = 0;
    std::memcpy(&number, bytes.data(), kIntegerBytes);
    return number;
  }
  if (!column.array.has_value()) return part;
  FOREBAY_ASSIGN_OR_RETURN(const ArrayPart array,
                           ReadArrayPart(*column.array, bytes));
  ArrayType type = array.type;
  if (chosen.has_rows && !type.shape.empty())
    type.shape.erase(type.shape.begin());
  if (type != chosen.array) {
    return absl::InvalidArgumentError(
        absl::StrCat("is an array ", Describe(array.type),
                     ", which is not an array like those of the first sample"));
  }
  // The elements are copied, since elements in a sample may not be aligned.
  const absl::Span<std::uint8_t> room = buffers->Add(array.elements.size());
  std::copy(array.elements.begin(), array.elements.end(), room.begin());
  return ComputedBytes{room};
}

}  // namespace forebay::dataset::mds
