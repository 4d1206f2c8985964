#include "tests/catch/matchers.h"

#include <regex>
#include <stdexcept>

namespace forebay::tests {

// Describes() is not in the header, because all tests would then compile
// <regex>.
bool Describes(const std::string& expression, std::string_view text) {
  constexpr std::size_t kMostBytes = 8192;
  if (text.size() > kMostBytes) {
    throw std::length_error("MatchesRegex takes no text of " +
                            std::to_string(text.size()) + " bytes");
  }
  return std::regex_match(text.begin(), text.end(), std::regex(expression));
}

}  // namespace forebay::tests
