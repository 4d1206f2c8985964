#include "tests/catch/results.h"

#include <fstream>
#include <string_view>

namespace forebay::tests {
namespace {

// Text as an attribute's value or an element's content; characters that XML 1.0
// (section 2.2, Char) does not allow become question marks.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\n':
        escaped += "&#10;";
        break;
      case '\t':
        escaped += "&#9;";
        break;
      default:
        // Bytes above ASCII may be of any encoding.
        escaped += c < ' ' || c > '~' ? '?' : c;
    }
  }
  return escaped;
}

}  // namespace

std::vector<Result>& Results() {
  static auto* const results = new std::vector<Result>();
  return *results;
}

bool HasFailure() {
  return !Results().empty() && !Results().back().failures.empty();
}

bool WriteJunit(const std::string& path, const std::vector<Result>& results) {
  std::size_t failures = 0, skipped = 0;
  for (const Result& result : results) {
    failures += !result.failures.empty();
    skipped += !result.skip_reason.empty();
  }
  std::ofstream file(path);
  file << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
       << "<testsuite name=\"tests\" tests=\"" << results.size()
       << "\" failures=\"" << failures << "\" skipped=\"" << skipped << "\">\n";
  for (const Result& result : results) {
    file << "<testcase name=\"" << Escaped(result.name) << "\" file=\""
         << Escaped(result.file) << "\" line=\"" << result.line << "\" time=\""
         << result.seconds << "\" assertions=\"" << result.assertions
         << "\">\n";
    for (const std::string& failure : result.failures)
      file << "<failure message=\"" << Escaped(failure) << "\"/>\n";
    if (result.failures.empty() && !result.skip_reason.empty())
      file << "<skipped message=\"" << Escaped(result.skip_reason) << "\"/>\n";
    file << "</testcase>\n";
  }
  file << "</testsuite>\n</testsuites>\n";
  file.close();
  return !file.fail();
}

}  // namespace forebay::tests
