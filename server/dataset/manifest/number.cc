#include "server/dataset/manifest/number.h"

#include <charconv>
#include <system_error>

#include "absl/strings/numbers.h"

namespace forebay::dataset::manifest {

std::optional<std::int64_t> IntegerOf(std::string_view text) {
  // A fraction of only zeros is dropped. The text before it must be an integer.
  const std::size_t point = text.find('.');
  if (point != text.npos) {
    const std::string_view fraction = text.substr(point + 1);
    if (fraction.empty() || fraction.find_first_not_of('0') != text.npos) {
      return std::nullopt;
    }
    text = text.substr(0, point);
  }
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  // Texts such as "-0" and "007" are more likely to be names.
  if (digits.empty() || (digits[0] == '0' && text.size() > 1)) {
    return std::nullopt;
  }
  std::int64_t number = 0;
  const auto parsed =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

bool IsNumber(std::string_view text) {
  double number = 0;
  return absl::SimpleAtod(absl::string_view(text.data(), text.size()), &number);
}

}  // namespace forebay::dataset::manifest
