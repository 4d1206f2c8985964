#include "server/dataset/path_order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "server/base/utf8.h"

namespace forebay::dataset {
namespace {

std::u32string CodePoints(std::string_view text) {
  std::u32string result;
  while (!text.empty()) {
    const std::size_t length = base::Utf8Length(text);
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
