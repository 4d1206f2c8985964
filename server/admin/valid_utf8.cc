#include "server/admin/valid_utf8.h"

#include <cstddef>
#include <string_view>

#include "server/base/utf8.h"

namespace forebay::admin {

// The text keeps its length: each bad byte becomes one character.
std::string ValidUtf8(const std::string& text) {
  std::string valid = text;
  for (std::size_t i = 0; i < valid.size();) {
    const std::size_t length =
        base::Utf8Length(std::string_view(valid).substr(i));
    if (length == 0) valid[i] = '?';
    i += length == 0 ? 1 : length;
  }
  return valid;
}

}  // namespace forebay::admin
