#include "server/pipeline/decode/integer_text.h"

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace forebay::pipeline::decode {
namespace {

constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";

absl::Status NoInteger() {
  return absl::DataLossError("is not an integer, which a label must be");
}

// Returns the text without the white space around it, like Python's
// bytes.strip().
std::string_view Stripped(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kWhiteSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kWhiteSpace) - begin + 1);
}

}  // namespace

absl::StatusOr<std::int64_t> DecodeInteger(
    absl::Span<const std::uint8_t> text) {
  std::string_view left =
      Stripped({reinterpret_cast<const char*>(text.data()), text.size()});
  std::string digits;
  if (left.starts_with('-') || left.starts_with('+')) {
    if (left.front() == '-') digits = "-";
    left.remove_prefix(1);
  }
  // The previous character; initially an underscore, because an underscore may
  // not come first.
  char before = '_';
  // Single underscores are allowed between digits.
  for (const char character : left) {
    if (character == '_') {
      if (before == '_') return NoInteger();
    } else if (character >= '0' && character <= '9') {
      digits += character;
    } else {
      return NoInteger();
    }
    before = character;
  }
  if (before == '_') return NoInteger();
  std::int64_t number = 0;
  const auto parsed =
      std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (parsed.ec != std::errc()) {
    return absl::DataLossError("is an integer of more than 64 bits");
  }
  return number;
}

}  // namespace forebay::pipeline::decode
