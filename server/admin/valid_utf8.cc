#include "server/admin/valid_utf8.h"

#include <cstddef>

namespace forebay::admin {
namespace {

// The length of the well-formed UTF-8 sequence at `text[i]`; 0: there is none.
std::size_t SequenceLength(const std::string& text, std::size_t i) {
  const auto byte = [&](std::size_t k) -> unsigned {
    return k < text.size() ? static_cast<unsigned char>(text[k]) : 0;
  };
  const unsigned lead = byte(i);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  }
  const unsigned next = byte(i + 1);
  // Overlong forms, surrogates, and what lies above U+10FFFF.
  if ((lead == 0xE0 && next < 0xA0) || (lead == 0xED && next > 0x9F) ||
      (lead == 0xF0 && next < 0x90) || (lead == 0xF4 && next > 0x8F)) {
    return 0;
  }
  return length;
}

}  // namespace

std::string ValidUtf8(const std::string& text) {
  std::string valid = text;
  for (std::size_t i = 0; i < valid.size();) {
    const std::size_t length = SequenceLength(valid, i);
    if (length == 0) valid[i] = '?';
    i += length == 0 ? 1 : length;
  }
  return valid;
}

}  // namespace forebay::admin
