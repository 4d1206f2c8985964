#include "server/dataset/records/value_type.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace forebay::dataset::records {
namespace {

using proto::DType;
using proto::FieldKind;

struct KindName {
  std::string_view name;
  FieldKind kind;
};
// The names of types without a shape. TextOf returns the first name of each
// kind.
constexpr KindName kKinds[] = {
    {"image", FieldKind::kImage}, {"jpg", FieldKind::kImage},
    {"jpeg", FieldKind::kImage},  {"png", FieldKind::kImage},
    {"webp", FieldKind::kImage},  {"gif", FieldKind::kImage},
    {"bmp", FieldKind::kImage},   {"tif", FieldKind::kImage},
    {"tiff", FieldKind::kImage},  {"int64", FieldKind::kLabel},
    {"cls", FieldKind::kLabel},   {"label", FieldKind::kLabel},
    {"text", FieldKind::kText},   {"txt", FieldKind::kText},
    {"json", FieldKind::kJson},   {"bytes", FieldKind::kBytes},
    {"avif", FieldKind::kImage},  {"npy", FieldKind::kArray},
    {"array", FieldKind::kArray}, {"audio", FieldKind::kAudio},
    {"wav", FieldKind::kAudio},   {"flac", FieldKind::kAudio},
    {"ogg", FieldKind::kAudio},   {"opus", FieldKind::kAudio},
    {"mp3", FieldKind::kAudio},
};

struct TypeName {
  std::string_view name;
  DType dtype;
};
// The names of arrays' elements.
constexpr TypeName kTypes[] = {
    {"uint8", DType::kUint8},     {"float16", DType::kFloat16},
    {"float32", DType::kFloat32}, {"int64", DType::kInt64},
    {"float64", DType::kFloat64}, {"int32", DType::kInt32},
    {"int16", DType::kInt16},     {"int8", DType::kInt8},
    {"bool", DType::kBool},       {"uint16", DType::kUint16},
    {"uint32", DType::kUint32},   {"uint64", DType::kUint64},
};

// The most bytes of one array. With this bound, products of extents do not
// overflow.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;

absl::Status NoType(std::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", std::string(text),
      "\" is not a type: \"jpg\", \"png\", \"int64\", \"text\", \"json\", "
      "\"bytes\", \"npy\", \"audio\" or an array such as \"float32[3,4]\" or, "
      "of any "
      "length, \"float32[n]\" is wanted"));
}

// Returns the element type named `name`. Returns null if there is no such type.
const TypeName* FindType(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kTypes), std::end(kTypes),
                   [name](const TypeName& one) { return one.name == name; });
  return found == std::end(kTypes) ? nullptr : found;
}

// Parses the text between the brackets, such as "3,4" or "n,4", into `type`.
// Returns false if the text is malformed. The rank must be less than kMaxRank,
// since a batch adds an axis.
bool ParseShape(std::string_view text, ValueType* type) {
  std::uint64_t bytes = proto::SizeOf(type->array->dtype);
  const std::vector<std::string> extents =
      absl::StrSplit(std::string(text), ',');
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (i == 0 && extents[i] == "n") {
      type->has_rows = true;
      continue;
    }
    std::uint64_t extent = 0;
    if (!absl::SimpleAtoi(extents[i], &extent) || extent == 0 ||
        extent > kMostBytes / bytes) {
      return false;
    }
    bytes *= extent;
    type->array->shape.push_back(extent);
  }
  return extents.size() < proto::kMaxRank;
}

}  // namespace

absl::StatusOr<ValueType> ParseValueType(std::string_view text) {
  const auto* const kind =
      std::find_if(std::begin(kKinds), std::end(kKinds),
                   [text](const KindName& one) { return one.name == text; });
  if (kind != std::end(kKinds)) return ValueType{.kind = kind->kind};
  // An array's type is an element type and a shape in brackets. A number's type
  // is only the element type.
  const std::size_t bracket = std::min(text.find('['), text.size());
  const TypeName* const found = FindType(text.substr(0, bracket));
  if (found == nullptr) return NoType(text);
  ValueType type{.kind = FieldKind::kArray,
                 .array = ArrayType{.dtype = found->dtype, .shape = {}}};
  if (bracket == text.size()) return type;
  if (!text.ends_with(']') ||
      !ParseShape(text.substr(bracket + 1, text.size() - bracket - 2), &type))
    return NoType(text);
  return type;
}

std::string TextOf(const ValueType& type) {
  if (!type.array.has_value()) {
    const auto* const kind = std::find_if(
        std::begin(kKinds), std::end(kKinds),
        [&](const KindName& one) { return one.kind == type.kind; });
    return std::string(kind->name);
  }
  const auto* const found = std::find_if(
      std::begin(kTypes), std::end(kTypes),
      [&](const TypeName& one) { return one.dtype == type.array->dtype; });
  std::string text(found->name);
  const char* separator = "[";
  if (type.has_rows) {
    absl::StrAppend(&text, "[n");
    separator = ",";
  }
  for (const std::uint64_t extent : type.array->shape) {
    absl::StrAppend(&text, separator, extent);
    separator = ",";
  }
  if (separator[0] == ',') text += ']';
  return text;
}

}  // namespace forebay::dataset::records
