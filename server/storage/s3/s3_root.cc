#include "server/storage/s3/s3_root.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/storage/http/bucket_uri.h"
#include "server/storage/http/url.h"

namespace forebay::storage::s3 {
namespace {

// The lengths of names, in bytes. Source: "General purpose bucket naming rules"
// and "Naming Amazon S3 objects" in the S3 User Guide. Other servers take
// underscores, too.
constexpr std::size_t kMinBucketBytes = 3;
constexpr std::size_t kMaxBucketBytes = 63;
constexpr std::size_t kMaxKeyBytes = 1024;

// Whether a bucket can have that name, which may become part of a host's name.
bool IsBucketName(std::string_view name) {
  return name.size() >= kMinBucketBytes && name.size() <= kMaxBucketBytes &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) {
                       return absl::ascii_islower(c) ||
                              absl::ascii_isdigit(c) || c == '-' || c == '_' ||
                              c == '.';
                     }) &&
         absl::ascii_isalnum(static_cast<unsigned char>(name.front())) &&
         absl::ascii_isalnum(static_cast<unsigned char>(name.back())) &&
         name.find("..") == name.npos;
}

// Whether a part of the key between slashes is "." or "..". Some servers, and
// proxies in front of servers, remove such parts and would read another object.
bool HasDots(std::string_view key) {
  for (;;) {
    const std::size_t slash = key.find('/');
    const std::string_view part = key.substr(0, slash);
    if (part == "." || part == "..") return true;
    if (slash == key.npos) return false;
    key.remove_prefix(slash + 1);
  }
}

}  // namespace

S3Root::S3Root(std::string uri, std::string bucket, const Endpoint& endpoint,
               std::string prefix, std::string_view reader)
    : uri_(std::move(uri)),
      bucket_(std::move(bucket)),
      bucket_url_(endpoint.UrlOf(bucket_)),
      origin_(http::OriginOf(endpoint.url)),
      prefix_(std::move(prefix)),
      identity_(std::make_shared<const std::string>(
          absl::StrCat(bucket_url_, "/", prefix_) + '\0' +
          std::string(reader))) {}

absl::StatusOr<std::shared_ptr<const S3Root>> S3Root::Create(
    std::string_view uri, const Endpoint& endpoint, std::string_view reader) {
  auto parts = http::ParseBucketUri(uri, {.scheme = "s3://",
                                          .object_name = "key",
                                          .longest = kMaxKeyBytes,
                                          .is_bucket = IsBucketName});
  if (!parts.ok()) return parts.status();
  return std::shared_ptr<const S3Root>(
      new S3Root(std::string(uri), std::move(parts->bucket), endpoint,
                 std::move(parts->prefix), reader));
}

absl::StatusOr<std::string> S3Root::UrlOf(std::string_view object) const {
  const std::string key = prefix_ + std::string(object);
  if (object.empty() || key.size() > kMaxKeyBytes || key.find('\0') != key.npos)
    return absl::InvalidArgumentError("is not the key of an object");
  if (HasDots(key))
    return absl::InvalidArgumentError(
        "has \".\" or \"..\" between slashes, and is not asked for: servers "
        "read such keys differently");
  return absl::StrCat(bucket_url_, "/", http::EscapePath(key));
}

std::string S3Root::ListUrl(std::string_view folder, bool one_level,
                            std::string_view page_token) const {
  return absl::StrCat(
      bucket_url_, "/?",
      page_token.empty()
          ? ""
          : absl::StrCat(
                "continuation-token=", http::EscapeComponent(page_token), "&"),
      one_level ? "delimiter=%2F&" : "",
      "encoding-type=url&list-type=2&max-keys=1000&prefix=",
      http::EscapeComponent(prefix_ + std::string(folder)));
}

}  // namespace forebay::storage::s3
