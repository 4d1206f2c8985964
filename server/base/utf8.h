#ifndef FOREBAY_SERVER_BASE_UTF8_H_
#define FOREBAY_SERVER_BASE_UTF8_H_

#include <cstddef>
#include <string_view>

namespace forebay::base {

// Returns the length in bytes of the UTF-8 character at the front of `text`,
// which is not empty; 0 if the character is malformed. The check is as strict
// as RFC 3629 and Python's decoder: overlong forms, surrogates and values above
// U+10FFFF are malformed. Thread-safe; never blocks.
std::size_t Utf8Length(std::string_view text);

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_UTF8_H_
