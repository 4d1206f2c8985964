#include "tests/catch/matchers.h"

#include <regex>

namespace forebay::tests {

// Apart from the header: all tests would compile what <regex> defines.
bool Describes(const std::string& expression, std::string_view text) {
  return std::regex_match(text.begin(), text.end(), std::regex(expression));
}

}  // namespace forebay::tests
