#include "proto/dataset_texts.h"

#include <algorithm>
#include <charconv>

#include "proto/shm_layout.h"

namespace forebay::proto {
namespace {

// The types of tokens, by the names that users give.
struct TypeName {
  std::string_view name;
  DType dtype;
};
constexpr TypeName kTypes[] = {
    {"uint8", DType::kUint8},   {"uint16", DType::kUint16},
    {"uint32", DType::kUint32}, {"uint64", DType::kUint64},
    {"int8", DType::kInt8},     {"int16", DType::kInt16},
    {"int32", DType::kInt32},   {"int64", DType::kInt64},
};

// Reads a number that is not 0. Returns false if `value` is not such a number.
bool ReadCount(std::string_view value, std::uint64_t* count) {
  const char* const end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, *count);
  return read.ec == std::errc() && read.ptr == end && *count > 0;
}

bool ReadType(std::string_view value, std::uint32_t* dtype) {
  const auto* const type =
      std::find_if(std::begin(kTypes), std::end(kTypes),
                   [&](const TypeName& one) { return one.name == value; });
  if (type == std::end(kTypes)) return false;
  *dtype = static_cast<std::uint32_t>(type->dtype);
  return true;
}

// Sets *choice to whether `value` is `yes`. Returns false if `value` is neither
// `yes` nor `no`.
bool ReadChoice(std::string_view value, std::string_view no,
                std::string_view yes, bool* choice) {
  *choice = value == yes;
  return *choice || value == no;
}

// Stores the setting `name`. Returns an empty text, or a refusal.
std::string Store(const std::string& name, const std::string& value,
                  TokenTexts* settings) {
  bool is_valid = false;
  if (name == "length") {
    is_valid = value == "document" || ReadCount(value, &settings->length);
  } else if (name == "stride") {
    is_valid = ReadCount(value, &settings->stride);
  } else if (name == "dtype") {
    is_valid = ReadType(value, &settings->dtype);
  } else if (name == "documents") {
    is_valid = ReadChoice(value, "cross", "each", &settings->each_document);
  } else if (name == "tail") {
    is_valid = ReadChoice(value, "drop", "keep", &settings->keeps_tail);
  } else if (name == "targets") {
    is_valid = ReadChoice(value, "0", "1", &settings->has_targets);
  } else {
    return "\"" + name + "\" is not a setting of tokens";
  }
  return is_valid ? "" : RefusedTokenValue(name, value);
}

}  // namespace

std::optional<FolderLayout> LayoutOf(const Texts& fields,
                                     std::string_view content) {
  if (fields.empty()) return FolderLayout::kAny;
  if (fields[0] != content) return std::nullopt;
  if (fields.size() == 1) return FolderLayout::kFlat;
  if (fields.size() == 2 && fields[1] == "label") return FolderLayout::kClasses;
  return std::nullopt;
}

std::optional<int> NpzSamplesOf(const Texts& fields, const Texts& columns) {
  constexpr std::string_view kNames[] = {"rows", "files", "classes"};
  if (columns.empty() || columns.size() != fields.size()) return std::nullopt;
  for (const std::string& column : columns) {
    if (column != columns.front()) return std::nullopt;
  }
  const auto* const name =
      std::find(std::begin(kNames), std::end(kNames), columns.front());
  if (name == std::end(kNames)) return std::nullopt;
  return static_cast<int>(name - std::begin(kNames)) + 1;
}

std::string ReadTokenTexts(const Texts& names, const Texts& values,
                           TokenTexts* settings) {
  if (names.size() != values.size()) {
    return std::to_string(names.size()) + " settings of tokens have " +
           std::to_string(values.size()) + " values";
  }
  *settings = TokenTexts();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto* const begin = names.data();
    if (std::find(begin, begin + i, names[i]) != begin + i)
      return "the setting " + names[i] + " comes twice";
    std::string refusal = Store(names[i], values[i], settings);
    if (!refusal.empty()) return refusal;
  }
  if (std::find(names.begin(), names.end(), "length") == names.end())
    return "samples of tokens need a length, or \"document\"";
  if (settings->length == 0 && settings->stride > 0) return kStrideOfDocuments;
  return "";
}

std::string RefusedTokenValue(std::string_view name, std::string_view value) {
  std::string text(name);
  return text.append(" cannot be \"").append(value) +
         "\": see the settings of tokens";
}

}  // namespace forebay::proto
