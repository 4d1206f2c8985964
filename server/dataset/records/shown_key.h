#ifndef FOREBAY_SERVER_DATASET_RECORDS_SHOWN_KEY_H_
#define FOREBAY_SERVER_DATASET_RECORDS_SHOWN_KEY_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace forebay::dataset::records {

// Returns a key, or the name of a database, in a form fit for messages: its
// first 64 bytes, escaped. Thread-safe; never blocks; has no errors.
inline std::string ShownKey(std::string_view key) {
  constexpr std::size_t kLongest = 64;  // bytes
  const std::string start(key.substr(0, kLongest));
  return absl::StrCat(absl::Utf8SafeCHexEscape(start),
                      key.size() > kLongest ? "..." : "");
}

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_SHOWN_KEY_H_
