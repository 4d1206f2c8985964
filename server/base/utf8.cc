#include "server/base/utf8.h"

#include <cstdint>

namespace forebay::base {

std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint8_t>(text[i]);
  };
  // The byte ranges are those of RFC 3629 section 4. The first byte tells the
  // length; c0, c1 and f5 to ff begin no character.
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // The second byte is restricted after four first bytes. e0 and f0 exclude
  // overlong forms, ed excludes surrogates, and f4 excludes values above
  // U+10FFFF.
  const std::uint8_t second = byte(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) {
    return 0;
  }
  return length;
}

}  // namespace forebay::base
