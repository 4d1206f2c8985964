#include "server/dataset/hdf5/hdf5_column.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/status.h"
#include "server/dataset/dataset.h"
#include "server/dataset/hdf5/path_pattern.h"

namespace forebay::dataset::hdf5 {
namespace {

using Json = nlohmann::json;
using Kind = ElementType::Kind;
using proto::DType;
using proto::FieldKind;

// Whether numbers of this type can be labels. A label is a signed 64-bit
// integer, so uint64 does not fit.
bool IsInteger(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
    case DType::kInt8:
    case DType::kUint16:
    case DType::kInt16:
    case DType::kUint32:
    case DType::kInt32:
    case DType::kInt64:
      return true;
    default:
      return false;
  }
}

// Whether a column's values are plain bytes, which can become a field of any
// type: texts, opaque bytes, sequences of bytes, or whole datasets of bytes.
bool IsBytes(const Hdf5Column& column) {
  const ElementType& type = column.type;
  const bool is_whole = column.is_whole() && type.kind == Kind::kNumber &&
                        column.shape.size() == 1 &&
                        proto::SizeOf(type.dtype) == 1;
  return is_whole || type.kind == Kind::kText || type.kind == Kind::kBytes ||
         type.kind == Kind::kVariableText ||
         (type.kind == Kind::kSequence && proto::SizeOf(type.dtype) == 1);
}

// Returns the field type that an element type suggests: labels for integers,
// arrays for other numbers, texts for texts, and bytes for everything else.
records::ValueType SuggestedType(const Hdf5Column& column) {
  records::ValueType value;
  switch (column.type.kind) {
    case Kind::kNumber:
      if (column.shape.empty() && IsInteger(column.type.dtype)) {
        value.kind = FieldKind::kLabel;
      } else if (!IsBytes(column)) {
        value.kind = FieldKind::kArray;
        value.array = ArrayType{column.type.dtype, column.shape};
      }
      break;
    case Kind::kText:
    case Kind::kVariableText:
      value.kind = FieldKind::kText;
      break;
    case Kind::kSequence:
      if (IsBytes(column)) break;
      value.kind = FieldKind::kArray;
      value.array = ArrayType{column.type.dtype, {}};
      value.has_rows = true;
      break;
    default:
      break;
  }
  return value;
}

// Whether rows are pixels of images: uint8 of height, width and, if there is a
// third axis, 1 or 3 channels.
bool ArePixels(const Hdf5Column& column) {
  const auto& shape = column.shape;
  const bool has_channels =
      shape.size() == 2 ||
      (shape.size() == 3 && (shape[2] == 1 || shape[2] == 3));
  return column.type.kind == Kind::kNumber &&
         column.type.dtype == DType::kUint8 && has_channels;
}

// Whether `value` is a type for whole datasets with any number of rows, and has
// the shape of their rows.
bool AreRows(const Hdf5Column& column, const records::ValueType& value) {
  return column.is_whole() && value.has_rows && !column.shape.empty() &&
         std::equal(column.shape.begin() + 1, column.shape.end(),
                    value.array->shape.begin(), value.array->shape.end());
}

// Whether a column's values can become a field of this type.
bool CanBe(const Hdf5Column& column, const records::ValueType& value) {
  const ElementType& type = column.type;
  if (type.kind == Kind::kNumber &&
      (value.array.has_value() || !IsBytes(column))) {
    switch (value.kind) {
      case FieldKind::kLabel:
        return column.shape.empty() && IsInteger(type.dtype);
      case FieldKind::kImage:
        return ArePixels(column);
      case FieldKind::kArray:
        return value.array.has_value() && value.array->dtype == type.dtype &&
               (value.has_rows ? AreRows(column, value)
                               : value.array->shape == column.shape);
      default:
        return false;
    }
  }
  if (value.kind == FieldKind::kArray && value.array.has_value()) {
    return type.kind == Kind::kSequence && value.has_rows &&
           value.array->shape.empty() && value.array->dtype == type.dtype;
  }
  return IsBytes(column);
}

// Checks that rows of `type` and `shape` can be read. The error is
// UNIMPLEMENTED. An extent of 0 is accepted only where whole datasets may
// differ in length.
absl::Status CheckRows(const ElementType& type,
                       const std::vector<std::uint64_t>& shape, bool is_whole) {
  const std::string shown = DescriptionOf(type, shape);
  if (type.kind == Kind::kOther || type.kind == Kind::kCompound) {
    return absl::UnimplementedError(
        absl::StrCat("has rows of ", shown, ", which cannot be read"));
  }
  if (type.kind != Kind::kNumber && !shape.empty()) {
    return absl::UnimplementedError(absl::StrCat(
        "has rows of several values, ", shown, ", which cannot be read"));
  }
  if (shape.size() >= proto::kMaxRank) {
    return absl::UnimplementedError(
        absl::StrCat("has rows of ", shape.size(), " dimensions; at most ",
                     proto::kMaxRank - 1, " can be read"));
  }
  const std::size_t first = is_whole && !shape.empty() ? 1 : 0;
  if (std::find(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end(),
                0) != shape.end()) {
    return absl::UnimplementedError(
        absl::StrCat("has rows without elements, ", shown));
  }
  return absl::OkStatus();
}

// Returns the JSON of a column, as the index on disk has it.
Json JsonOf(const Hdf5Column& column) {
  return {{"path", column.path},
          {"member", column.member},
          {"offset", column.offset},
          {"kind", static_cast<int>(column.type.kind)},
          {"size", column.type.size},
          {"dtype", static_cast<std::uint32_t>(column.type.dtype)},
          {"big_endian", column.type.big_endian},
          {"padding", static_cast<int>(column.type.padding)},
          {"shape", column.shape},
          {"row_bytes", column.row_bytes},
          {"value", records::TextOf(column.value)},
          {"kept", column.is_kept}};
}

// Parses a column from JSON. Returns nothing if JsonOf cannot have written it.
// Throws Json::exception where a key or type is wrong.
std::optional<Hdf5Column> ColumnOf(const Json& json) {
  Hdf5Column column;
  json.at("path").get_to(column.path);
  json.at("member").get_to(column.member);
  json.at("offset").get_to(column.offset);
  const int kind = json.at("kind").get<int>();
  if (kind < 0 || kind >= static_cast<int>(Kind::kCompound)) return {};
  column.type.kind = static_cast<Kind>(kind);
  json.at("size").get_to(column.type.size);
  column.type.dtype = static_cast<DType>(json.at("dtype").get<std::uint32_t>());
  json.at("big_endian").get_to(column.type.big_endian);
  const int padding = json.at("padding").get<int>();
  if (padding < 0 || padding > static_cast<int>(TextPadding::kSpaces))
    return {};
  column.type.padding = static_cast<TextPadding>(padding);
  json.at("shape").get_to(column.shape);
  json.at("row_bytes").get_to(column.row_bytes);
  json.at("kept").get_to(column.is_kept);
  const auto value =
      records::ParseValueType(json.at("value").get<std::string>());
  if (!value.ok() ||
      !CheckRows(column.type, column.shape, column.is_whole()).ok())
    return {};
  column.value = *value;
  const std::uint64_t element = proto::SizeOf(column.type.dtype);
  if (element == 0 || !IsFieldName(column.name()) ||
      !CanBe(column, column.value) || column.type.size == 0) {
    return {};
  }
  // The value must lie within the row. The product of the value's extents is
  // bounded first.
  std::uint64_t bytes =
      column.type.kind == Kind::kNumber ? element : column.type.size;
  for (const std::uint64_t extent : column.shape) {
    if (bytes > 0 && extent > kMostBytes / bytes) return {};
    bytes *= extent;
  }
  if (bytes > column.row_bytes || column.offset > column.row_bytes - bytes)
    return {};
  return column;
}

}  // namespace

std::string Hdf5Column::name() const {
  std::string name = path;
  if (const auto pattern = SplitPattern(path); pattern.has_value())
    name = pattern->rest.empty() ? "value" : pattern->rest;
  return member.empty() ? name : absl::StrCat(name, "/", member);
}

bool Hdf5Column::is_whole() const { return SplitPattern(path).has_value(); }

bool Hdf5Column::has_any_length() const {
  if (is_variable()) return true;
  if (!is_whole() || !member.empty()) return false;
  if (type.kind != Kind::kNumber) return true;
  if (value.array.has_value()) return value.has_rows;
  // A whole dataset with one axis is bytes of any length. All other datasets
  // are numbers or pixels, and have equal shapes in all samples.
  return shape.size() == 1;
}

std::uint64_t Hdf5Column::value_bytes() const {
  std::uint64_t bytes =
      type.kind == Kind::kNumber ? proto::SizeOf(type.dtype) : type.size;
  for (const std::uint64_t extent : shape) bytes *= extent;
  return bytes;
}

std::string DescriptionOf(const ElementType& type,
                          const std::vector<std::uint64_t>& shape) {
  if (shape.empty()) return type.description;
  return absl::StrCat(type.description, " (", absl::StrJoin(shape, ", "), ")");
}

absl::StatusOr<Hdf5Column> ColumnOf(const ArrayLayout& array, std::string path,
                                    std::string member) {
  if (array.shape.empty()) {
    return absl::UnimplementedError("has a single value, which is in no row");
  }
  Hdf5Column column;
  column.path = std::move(path);
  column.member = std::move(member);
  column.row_bytes = array.row_bytes();
  column.shape.assign(array.shape.begin() + 1, array.shape.end());
  if (column.member.empty()) {
    column.type = array.type;
  } else {
    const auto compound_member = std::find_if(
        array.type.members.begin(), array.type.members.end(),
        [&](const CompoundMember& one) { return one.name == column.member; });
    if (compound_member == array.type.members.end())
      return absl::NotFoundError("has no such member");
    if (!column.shape.empty()) {
      return absl::UnimplementedError(
          "has several compounds in each row, which cannot be read");
    }
    column.offset = compound_member->offset;
    column.type = ElementType(compound_member->type);
  }
  column.shape.insert(column.shape.end(), column.type.shape.begin(),
                      column.type.shape.end());
  FOREBAY_RETURN_IF_ERROR(
      CheckRows(column.type, column.shape, column.is_whole()));
  column.value = SuggestedType(column);
  return column;
}

absl::Status SetValueType(const records::ValueType& type, Hdf5Column* column) {
  if (!CanBe(*column, type)) {
    return absl::InvalidArgumentError(
        absl::StrCat("has rows of ", DescriptionOf(column->type, column->shape),
                     ", which are not \"", records::TextOf(type), "\""));
  }
  column->value = type;
  return absl::OkStatus();
}

absl::Status CheckColumn(const Hdf5Column& column, const ArrayLayout& array) {
  FOREBAY_ASSIGN_OR_RETURN(const Hdf5Column other,
                           ColumnOf(array, column.path, column.member));
  // If values have any length, the first extent and the bytes of a row may
  // differ from file to file.
  const bool differs = column.has_any_length();
  const auto tail = [differs](const Hdf5Column& one) {
    return std::vector<std::uint64_t>(
        one.shape.begin() + (differs && !one.shape.empty() ? 1 : 0),
        one.shape.end());
  };
  const bool is_such = other.type.kind == column.type.kind &&
                       (differs || other.type.size == column.type.size) &&
                       other.type.dtype == column.type.dtype &&
                       other.type.big_endian == column.type.big_endian &&
                       other.type.padding == column.type.padding &&
                       other.shape.size() == column.shape.size() &&
                       tail(other) == tail(column) &&
                       other.offset == column.offset &&
                       (differs || other.row_bytes == column.row_bytes);
  if (is_such) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("has rows of ", DescriptionOf(other.type, other.shape),
                   ", unlike the first file"));
}

std::string TextOf(const std::vector<Hdf5Column>& columns) {
  Json text = {{"format", "hdf5"}, {"columns", Json::array()}};
  for (const Hdf5Column& column : columns)
    text["columns"].push_back(JsonOf(column));
  return text.dump(-1, ' ', true, Json::error_handler_t::replace);
}

absl::StatusOr<std::vector<Hdf5Column>> ParseColumns(std::string_view text) {
  std::vector<Hdf5Column> columns;
  std::set<std::string> names;
  // For the path of each dataset, whether the index stores the dataset's
  // values. All columns of a dataset must agree.
  std::map<std::string, bool> is_kept_by_path;
  try {
    const Json json = Json::parse(text);
    if (json.at("format") == "hdf5") {
      for (const Json& one : json.at("columns")) {
        auto column = ColumnOf(one);
        if (!column.has_value() || !names.insert(column->name()).second ||
            is_kept_by_path.emplace(column->path, column->is_kept)
                    .first->second != column->is_kept) {
          columns.clear();
          break;
        }
        columns.push_back(*std::move(column));
      }
    }
  } catch (const Json::exception&) {
    columns.clear();
  }
  if (columns.empty() || columns.size() > kMaxDatasetFields)
    return absl::DataLossError("is of records that are not rows of HDF5");
  return columns;
}

}  // namespace forebay::dataset::hdf5
