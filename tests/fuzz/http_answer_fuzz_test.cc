// Fuzzes the headers of an HTTP answer. Bytes are used only if they are of the
// requested range and version.

#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "server/storage/byte_source.h"
#include "server/storage/gcs/gcs_protocol.h"
#include "server/storage/http/content_range.h"
#include "server/storage/http/http_protocol.h"
#include "server/storage/http/message.h"
#include "tests/fuzz/require.h"

namespace {

namespace http = forebay::storage::http;
using forebay::fuzz::Require;

constexpr http::HttpRange kRange = {.offset = 5, .length = 10};
constexpr std::uint64_t kObject = 100;

// Parses a status line, and a line "name: value" for each header.
http::HttpResponse Read(std::string_view text) {
  http::HttpResponse answer;
  bool first = true;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (std::exchange(first, false)) {
      answer.status = line == "200" ? 200 : 206;
      continue;
    }
    const std::size_t colon = line.find(": ");
    if (colon == line.npos) continue;
    std::string name(line.substr(0, colon));
    for (char& c : name)
      c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    answer.headers.emplace_back(std::move(name), line.substr(colon + 2));
  }
  answer.filled = kRange.length;
  return answer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const http::HttpResponse answer =
      Read({reinterpret_cast<const char*>(data), size});
  forebay::storage::ReadRequest read;
  read.version = {.size = kObject, .stamp = 42};
  const forebay::storage::gcs::GcsProtocol gcs;
  const bool from_bucket = gcs.Judge(read, kRange, answer).ok();
  static_cast<void>(gcs.Crc32cOf(answer));
  read.version.stamp = 0;
  const http::HttpProtocol web;
  const bool from_server = web.Judge(read, kRange, answer).ok();
  if (from_bucket || from_server) {
    const std::string* const header = answer.Header("content-range");
    Require(answer.status == 206 && header != nullptr);
    const auto range = http::ParseContentRange(*header);
    Require(range.has_value() && range->first == kRange.offset &&
            range->last - range->first + 1 == kRange.length);
    Require(!range->object_size.has_value() || *range->object_size == kObject);
  }
  return 0;
}
