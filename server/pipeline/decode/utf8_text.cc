#include "server/pipeline/decode/utf8_text.h"

#include "absl/strings/str_cat.h"

namespace forebay::pipeline::decode {
namespace {

// Bytes of the character at the front of `bytes`, which is not empty; 0: it is
// malformed.
std::size_t CharacterLength(absl::Span<const std::uint8_t> bytes) {
  const std::uint8_t first = bytes[0];
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((bytes[i] & 0xc0) != 0x80) return 0;
  }
  // Longer than need be, a surrogate, or above U+10FFFF.
  const std::uint8_t second = bytes[1];
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) {
    return 0;
  }
  return length;
}

}  // namespace

absl::StatusOr<std::string_view> DecodeText(
    absl::Span<const std::uint8_t> bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = CharacterLength(bytes.subspan(at));
    if (length == 0) {
      return absl::DataLossError(
          absl::StrCat("is not UTF-8, which a text must be, at byte ", at));
    }
    at += length;
  }
  return std::string_view(reinterpret_cast<const char*>(bytes.data()),
                          bytes.size());
}

}  // namespace forebay::pipeline::decode
