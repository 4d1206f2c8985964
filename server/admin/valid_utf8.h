#ifndef FOREBAY_SERVER_ADMIN_VALID_UTF8_H_
#define FOREBAY_SERVER_ADMIN_VALID_UTF8_H_

#include <string>

namespace forebay::admin {

// Text that protobuf takes: of what is not UTF-8 (a path may be anything) each
// bad byte becomes '?'. Thread-safe; nothing blocks or fails.
std::string ValidUtf8(const std::string& text);

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_VALID_UTF8_H_
