#ifndef FOREBAY_SERVER_ADMIN_VALID_UTF8_H_
#define FOREBAY_SERVER_ADMIN_VALID_UTF8_H_

#include <string>

namespace forebay::admin {

// Returns the text as valid UTF-8, as protobuf's strings require. Paths and
// names can contain any bytes; each byte that is not part of a character
// becomes '?'. Thread-safe; never blocks; has no errors.
std::string ValidUtf8(const std::string& text);

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_VALID_UTF8_H_
