#include "server/dataset/path_order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace forebay::dataset {
namespace {

// Returns the bytes of the well-formed UTF-8 sequence at the start of `text`,
// which is not empty; 0 if there is none.
std::size_t SequenceLength(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint8_t>(text[i]);
  };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  // Overlong forms, surrogates, and code points above U+10FFFF.
  if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F) ||
      (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) {
    return 0;
  }
  return length;
}

std::u32string CodePoints(std::string_view text) {
  std::u32string result;
  while (!text.empty()) {
    const std::size_t length = SequenceLength(text);
    const auto lead = static_cast<std::uint8_t>(text[0]);
    char32_t point = lead;
    if (length == 0) point = 0xDC00 + lead;
    if (length > 1) point = lead & (0xFF >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
      point = point << 6 | (static_cast<std::uint8_t>(text[i]) & 0x3F);
    }
    result.push_back(point);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

bool IsAscii(char c) { return static_cast<std::uint8_t>(c) < 0x80; }

}  // namespace

bool PathLess(std::string_view a, std::string_view b) {
  const auto [at_a, at_b] =
      std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  // Up to an ASCII byte, equal bytes are equal code points.
  if ((at_a == a.end() || IsAscii(*at_a)) &&
      (at_b == b.end() || IsAscii(*at_b))) {
    if (at_a == a.end() || at_b == b.end()) return a.size() < b.size();
    return *at_a < *at_b;
  }
  return CodePoints(a) < CodePoints(b);
}

}  // namespace forebay::dataset
