#include "server/dataset/path_order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "server/base/utf8.h"

namespace forebay::dataset {
namespace {

// Removes the first code point from `text`, which is not empty, and returns it.
// A byte that is not valid UTF-8 becomes a surrogate, U+DC00 plus the byte (PEP
// 383).
char32_t TakeCodePoint(std::string_view& text) {
  const std::size_t length = base::Utf8Length(text);
  const auto lead = static_cast<std::uint8_t>(text[0]);
  char32_t point = lead;
  if (length == 0) point = 0xDC00 + lead;
  if (length > 1) point = lead & (0xFF >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    point = point << 6 | (static_cast<std::uint8_t>(text[i]) & 0x3F);
  }
  text.remove_prefix(std::max<std::size_t>(length, 1));
  return point;
}

bool IsAscii(char c) { return static_cast<std::uint8_t>(c) < 0x80; }

// Whether the byte continues a UTF-8 character: its two high bits are 10 (RFC
// 3629, section 3).
bool IsContinuation(char c) {
  return (static_cast<std::uint8_t>(c) & 0xC0) == 0x80;
}

}  // namespace

// The bytes of UTF-8 sort as code points do. So the first different byte orders
// most pairs of names. Bytes that are not valid UTF-8 do not sort like this. So
// names are decoded if they differ within a character that is not ASCII.
bool PathLess(std::string_view a, std::string_view b) {
  const auto [at_a, at_b] =
      std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  // The names first differ at at_a and at_b. If each of these is an ASCII byte
  // or the end of its name, all code points before are equal, and these bytes
  // decide.
  if ((at_a == a.end() || IsAscii(*at_a)) &&
      (at_b == b.end() || IsAscii(*at_b))) {
    if (at_a == a.end() || at_b == b.end()) return a.size() < b.size();
    return *at_a < *at_b;
  }
  // Every byte that is not a continuation begins a code point. So the code
  // points before the last such byte are equal, and decoding begins at that
  // byte.
  auto equal = static_cast<std::size_t>(at_a - a.begin());
  while (equal > 0 && IsContinuation(a[--equal])) {
  }
  a.remove_prefix(equal);
  b.remove_prefix(equal);
  while (!a.empty() && !b.empty()) {
    const char32_t point_a = TakeCodePoint(a);
    const char32_t point_b = TakeCodePoint(b);
    if (point_a != point_b) return point_a < point_b;
  }
  return a.empty() && !b.empty();
}

}  // namespace forebay::dataset
