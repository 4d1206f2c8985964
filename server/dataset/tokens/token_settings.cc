#include "server/dataset/tokens/token_settings.h"

#include "absl/strings/str_cat.h"
#include "proto/dataset_texts.h"
#include "server/base/status.h"

namespace forebay::dataset::tokens {
namespace {

using proto::DType;

// The most tokens of a length or a stride. Up to this bound, numbers of bytes
// do not overflow.
constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 40;

// Returns the error of a value that a setting cannot have.
absl::Status NoValue(std::string_view name, std::uint64_t value) {
  return absl::InvalidArgumentError(
      proto::RefusedTokenValue(name, std::to_string(value)));
}

bool IsInteger(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
    case DType::kUint64:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
      return true;
    default:
      return false;
  }
}

}  // namespace

TokenWindows TokenSettings::windows() const {
  const std::uint64_t more = has_targets ? 1 : 0;
  // A window of this length has a whole document, since no run has so many
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

absl::StatusOr<TokenSettings> SettingsOf(const proto::Tokens& spec) {
  if (spec.length() > kMostTokens) return NoValue("length", spec.length());
  if (spec.stride() > kMostTokens) return NoValue("stride", spec.stride());
  TokenSettings settings;
  settings.each_document = spec.each_document();
  settings.keeps_tail = spec.keeps_tail();
  settings.has_targets = spec.has_targets();
  if (spec.dtype() != proto::DATA_TYPE_UNSPECIFIED) {
    settings.dtype = static_cast<DType>(spec.dtype());
    if (!IsInteger(*settings.dtype))
      return NoValue("dtype", static_cast<std::uint64_t>(spec.dtype()));
  }
  if (spec.length() > 0) {
    settings.length = spec.length();
    settings.stride = spec.stride() > 0 ? spec.stride() : spec.length();
    return settings;
  }
  if (spec.stride() > 0)
    return absl::InvalidArgumentError(proto::kStrideOfDocuments);
  settings.each_document = true;
  return settings;
}

}  // namespace forebay::dataset::tokens
