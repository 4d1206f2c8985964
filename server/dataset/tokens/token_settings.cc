// Settings come as pairs of texts: length, stride, dtype, documents, tail and
// targets. If the length is "document", each document is a window. If there is
// no stride, windows lie side by side.
#include "server/dataset/tokens/token_settings.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::dataset::tokens {
namespace {

using proto::DType;

// The most tokens of a length or a stride. Up to this bound, numbers of bytes
// do not overflow.
constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 40;

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

// Returns the error of a value that a setting cannot have.
absl::Status NoValue(std::string_view name, std::string_view value) {
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(name), " cannot be \"", std::string(value),
                   "\": see the settings of tokens"));
}

absl::StatusOr<std::uint64_t> ReadCount(const std::string& name,
                                        const std::string& value) {
  std::uint64_t count = 0;
  if (!absl::SimpleAtoi(value, &count) || count < 1 || count > kMostTokens)
    return NoValue(name, value);
  return count;
}

absl::StatusOr<DType> ReadType(const std::string& name,
                               const std::string& value) {
  for (const TypeName& type : kTypes) {
    if (type.name == value) return type.dtype;
  }
  return NoValue(name, value);
}

// Returns whether the value is `yes`. The value must be `yes` or `no`.
absl::StatusOr<bool> ReadChoice(const std::string& name,
                                const std::string& value, std::string_view no,
                                std::string_view yes) {
  if (value == no) return false;
  if (value == yes) return true;
  return NoValue(name, value);
}

// Stores the setting `name`.
absl::Status Apply(const std::string& name, const std::string& value,
                   TokenSettings* settings) {
  if (name == "length") {
    if (value == "document") return absl::OkStatus();
    FOREBAY_ASSIGN_OR_RETURN(settings->length, ReadCount(name, value));
  } else if (name == "stride") {
    FOREBAY_ASSIGN_OR_RETURN(settings->stride, ReadCount(name, value));
  } else if (name == "dtype") {
    FOREBAY_ASSIGN_OR_RETURN(settings->dtype, ReadType(name, value));
  } else if (name == "documents") {
    FOREBAY_ASSIGN_OR_RETURN(settings->each_document,
                             ReadChoice(name, value, "cross", "each"));
  } else if (name == "tail") {
    FOREBAY_ASSIGN_OR_RETURN(settings->keeps_tail,
                             ReadChoice(name, value, "drop", "keep"));
  } else if (name == "targets") {
    FOREBAY_ASSIGN_OR_RETURN(settings->has_targets,
                             ReadChoice(name, value, "0", "1"));
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name, "\" is not a setting of tokens"));
  }
  return absl::OkStatus();
}

}  // namespace

TokenWindows TokenSettings::windows() const {
  const std::uint64_t more = has_targets ? 1 : 0;
  // A window of this length has all of a document, since no run has so many
  // tokens.
  const std::uint64_t all = UINT64_MAX;
  TokenWindows windows;
  windows.length = length.has_value() ? *length + more : all;
  windows.stride = length.has_value() ? stride : all;
  windows.least = is_ragged() ? 1 + more : windows.length;
  return windows;
}

std::string TokenSettings::text() const {
  return absl::StrCat(
      "tokens ", length.value_or(0), " ", stride, " ",
      dtype.has_value() ? static_cast<std::uint32_t>(*dtype) : 0, " ",
      each_document, keeps_tail, has_targets);
}

absl::StatusOr<TokenSettings> ReadTokenSettings(
    const std::vector<std::string>& names,
    const std::vector<std::string>& values) {
  if (names.size() != values.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        names.size(), " settings of tokens have ", values.size(), " values"));
  }
  const auto has = [&names](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  TokenSettings settings;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::count(names.begin(), names.end(), names[i]) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the setting ", names[i], " comes twice"));
    }
    FOREBAY_RETURN_IF_ERROR(Apply(names[i], values[i], &settings));
  }
  if (!has("length")) {
    return absl::InvalidArgumentError(
        "samples of tokens need a length, or \"document\"");
  }
  if (!settings.length.has_value()) {
    if (has("stride")) {
      return absl::InvalidArgumentError(
          "whole documents have no stride, which is of windows");
    }
    settings.each_document = true;
  } else if (!has("stride")) {
    settings.stride = *settings.length;
  }
  return settings;
}

}  // namespace forebay::dataset::tokens
