#ifndef FOREBAY_SERVER_DATASET_SHOWN_NAME_H_
#define FOREBAY_SERVER_DATASET_SHOWN_NAME_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace forebay::dataset {

// Returns a name that was read from a file, in a form fit for messages: its
// first 256 bytes, with control characters escaped. Unescaped, a NUL would end
// the message. Thread-safe; never blocks; has no errors.
inline std::string ShownName(std::string_view name) {
  constexpr std::size_t kLongest = 256;  // bytes
  std::string shown;
  for (const char byte : name.substr(0, kLongest)) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < ' ' || code == 0x7f) {
      absl::StrAppend(&shown, "\\x", absl::Hex(code, absl::kZeroPad2));
    } else {
      shown += byte;
    }
  }
  if (name.size() > kLongest) shown += "...";
  return shown;
}

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_SHOWN_NAME_H_
