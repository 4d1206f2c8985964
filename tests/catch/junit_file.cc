#include "tests/catch/junit_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <sstream>
#include <string_view>

namespace forebay::tests {
namespace {

constexpr char kHead[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
    "<testsuite name=\"tests\">\n";
constexpr char kTail[] = "</testsuite>\n</testsuites>\n";

// Returns `text` as the value of an XML attribute. Bytes above ASCII may be of
// any encoding. XML 1.0 (section 2.2, Char) does not allow every ASCII byte.
// Bytes that cannot stand in XML become \xNN.
std::string Escaped(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (c == '\n') {
      escaped += "&#10;";
    } else if (c == '\t') {
      escaped += "&#9;";
    } else if (c >= ' ' && c <= '~') {
      escaped += c;
    } else {
      escaped += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return escaped;
}

std::string Element(const Result& result, bool has_ended) {
  std::ostringstream text;
  text << "<testcase name=\"" << Escaped(result.name) << "\" file=\""
       << Escaped(result.file) << "\" line=\"" << result.line << "\" time=\""
       << result.seconds << "\" assertions=\"" << result.assertions << "\">\n";
  const auto failed = [&text](const std::string& failure) {
    text << "<failure message=\"" << Escaped(failure) << "\"/>\n";
  };
  for (const std::string& failure : result.failures) failed(failure);
  if (!has_ended) failed("the program ended within this test case");
  if (has_ended && result.failures.empty() && !result.skip_reason.empty())
    text << "<skipped message=\"" << Escaped(result.skip_reason) << "\"/>\n";
  text << "</testcase>\n";
  return text.str();
}

}  // namespace

JunitFile::JunitFile(const std::string& path)
    : fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)),
      ok_(fd_ >= 0) {
  WriteEnd(kHead);
  final_bytes_ = sizeof(kHead) - 1;
  Result none;
  none.name = "before the first test case";
  WriteEnd(Element(none, false) + kTail);
}

JunitFile::~JunitFile() { close(fd_); }

void JunitFile::Write(const std::vector<Result>& results, bool last_ended) {
  std::string text;
  std::size_t final = 0;
  for (std::size_t i = final_results_; i < results.size(); ++i) {
    const bool has_ended = last_ended || i + 1 < results.size();
    text += Element(results[i], has_ended);
    if (has_ended) final = text.size();
  }
  WriteEnd(text + kTail);
  final_bytes_ += final;
  final_results_ = results.size() - (last_ended || results.empty() ? 0 : 1);
}

void JunitFile::WriteEnd(const std::string& text) {
  const auto bytes = static_cast<ssize_t>(text.size());
  const auto at = static_cast<off_t>(final_bytes_);
  ok_ = ok_ && pwrite(fd_, text.data(), text.size(), at) == bytes &&
        ftruncate(fd_, at + bytes) == 0;
}

}  // namespace forebay::tests
