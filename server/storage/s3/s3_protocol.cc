#include "server/storage/s3/s3_protocol.h"

#include <algorithm>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/http/content_range.h"
#include "server/storage/s3/fault.h"
#include "server/storage/s3/s3_root.h"

namespace forebay::storage::s3 {

std::string_view PlainTag(std::string_view tag) {
  if (tag.size() >= 2 && tag.front() == '"' && tag.back() == '"')
    tag = tag.substr(1, tag.size() - 2);
  const bool is_plain = std::all_of(tag.begin(), tag.end(), [](char c) {
    return c > ' ' && c < 127 && c != '"';
  });
  return is_plain && tag.size() <= http::EntityTags::kMaxBytes
             ? tag
             : std::string_view();
}

absl::StatusOr<http::HttpRequest> S3Protocol::Ask(
    const ReadRequest& read, const http::HttpRange& range) const {
  const auto* const root = dynamic_cast<const S3Root*>(read.root.get());
  if (root == nullptr) return absl::InvalidArgumentError("lies in no bucket");
  http::HttpRequest request;
  FOREBAY_ASSIGN_OR_RETURN(request.url, root->UrlOf(read.object));
  // The server tells the checksum of what it sends. For a range that is one
  // part of a multipart upload, it would tell the checksum of that part.
  if (range.offset == 0 && range.length == read.version.size)
    request.headers.emplace_back("x-amz-checksum-mode: ENABLED");
  else
    request.headers.push_back(http::RangeHeader(range));
  const std::string tag = tags_->Find(read.version.stamp);
  if (!tag.empty())
    request.headers.push_back(absl::StrCat("If-Match: \"", tag, "\""));
  return request;
}

absl::Status S3Protocol::Judge(const ReadRequest& read,
                               const http::HttpRange& range,
                               const http::HttpResponse& answer) const {
  const std::string* const header = answer.Header("etag");
  const std::string_view tag =
      header == nullptr ? std::string_view() : PlainTag(*header);
  if (tag.empty())
    return absl::UnimplementedError("the server does not tell its ETag");
  if (http::StampOfTag(tag) != read.version.stamp)
    return absl::FailedPreconditionError(
        "was replaced or changed since the dataset was indexed");
  tags_->Add(tag);
  return http::CheckRange(answer, range, read.version.size);
}

absl::Status S3Protocol::Fault(const http::HttpResponse& answer) const {
  return FaultOf(answer);
}

absl::Status S3Protocol::Explain(const absl::Status& error) const {
  if (!absl::IsNotFound(error)) return error;
  return absl::NotFoundError("was deleted since the dataset was indexed");
}

std::optional<std::uint32_t> S3Protocol::Crc32cOf(
    const http::HttpResponse& answer) const {
  const std::string* const header = answer.Header("x-amz-checksum-crc32c");
  // A checksum that is made of the parts' checksums ends with their number, and
  // is not valid base64.
  std::string raw;
  if (answer.status != 200 || header == nullptr ||
      !absl::Base64Unescape(*header, &raw) || raw.size() != 4)
    return std::nullopt;
  std::uint32_t crc = 0;
  for (const char byte : raw) crc = crc << 8 | static_cast<std::uint8_t>(byte);
  return crc;
}

}  // namespace forebay::storage::s3
