#include "server/storage/gcs/gcs_protocol.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "server/base/status.h"
#include "server/storage/gcs/gcs_root.h"
#include "server/storage/http/content_range.h"

namespace forebay::storage::gcs {

absl::StatusOr<http::HttpRequest> GcsProtocol::Ask(
    const ReadRequest& read, const http::HttpRange& range) const {
  const auto* const root = dynamic_cast<const GcsRoot*>(read.root.get());
  if (root == nullptr)
    return absl::InvalidArgumentError("lies in no bucket of Cloud Storage");
  http::HttpRequest request;
  FOREBAY_ASSIGN_OR_RETURN(request.url,
                           root->MediaUrl(read.object, read.version.stamp));
  // The headers ask for an object as it is stored. A server that decompresses
  // the object would ignore the range, and the checksum would differ.
  request.headers = {http::RangeHeader(range), "Cache-Control: no-transform",
                     "Accept-Encoding: gzip"};
  return request;
}

absl::Status GcsProtocol::Judge(const ReadRequest& read,
                                const http::HttpRange& range,
                                const http::HttpResponse& answer) const {
  const std::string* const header = answer.Header("x-goog-generation");
  std::int64_t generation = 0;
  if (header != nullptr && (!absl::SimpleAtoi(*header, &generation) ||
                            generation != read.version.stamp))
    return absl::FailedPreconditionError(
        "was replaced or changed since the dataset was indexed");
  return http::CheckRange(answer, range, read.version.size);
}

// The server does not find the old generation of an object that was replaced.
absl::Status GcsProtocol::Explain(const absl::Status& error) const {
  if (!absl::IsNotFound(error)) return error;
  return absl::NotFoundError(
      "was replaced or deleted since the dataset was indexed");
}

std::optional<std::uint32_t> GcsProtocol::Crc32cOf(
    const http::HttpResponse& answer) const {
  for (const auto& [name, value] : answer.headers) {
    if (name != "x-goog-hash") continue;
    if (const auto crc = ParseHashHeader(value)) return crc;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> ParseHashHeader(std::string_view value) {
  constexpr std::string_view kName = "crc32c=";
  while (!value.empty()) {
    const std::string_view field = value.substr(0, value.find(','));
    value.remove_prefix(std::min(field.size() + 1, value.size()));
    const absl::string_view trimmed =
        absl::StripAsciiWhitespace({field.data(), field.size()});
    const std::string_view entry(trimmed.data(), trimmed.size());
    if (!entry.starts_with(kName)) continue;
    std::string raw;
    if (!absl::Base64Unescape(trimmed.substr(kName.size()), &raw) ||
        raw.size() != 4)
      return std::nullopt;
    std::uint32_t crc = 0;
    for (const char byte : raw)
      crc = crc << 8 | static_cast<std::uint8_t>(byte);  // big-endian
    return crc;
  }
  return std::nullopt;
}

}  // namespace forebay::storage::gcs
