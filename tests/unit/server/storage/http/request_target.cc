#include "tests/unit/server/storage/http/request_target.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "server/base/crc32c.h"

namespace forebay::storage::http {
namespace {

std::string Unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      plain += absl::HexStringToBytes({text.data() + i + 1, 2});
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

RequestTarget ParseTarget(std::string_view target) {
  const std::size_t mark = std::min(target.find('?'), target.size());
  RequestTarget parsed;
  parsed.path = Unescape(target.substr(0, mark));
  const std::string_view query =
      target.substr(std::min(mark + 1, target.size()));
  for (const absl::string_view field :
       absl::StrSplit(absl::string_view(query.data(), query.size()), '&')) {
    const std::pair<std::string, std::string> entry =
        absl::StrSplit(field, absl::MaxSplits('=', 1));
    parsed.query[entry.first] = Unescape(entry.second);
  }
  return parsed;
}

std::string Crc32cInBase64(std::string_view content) {
  const std::uint32_t crc = base::Crc32c(
      {reinterpret_cast<const std::uint8_t*>(content.data()), content.size()});
  std::string raw;
  for (int shift = 24; shift >= 0; shift -= 8)
    raw += static_cast<char>(crc >> shift);
  return absl::Base64Escape(raw);
}

}  // namespace forebay::storage::http
