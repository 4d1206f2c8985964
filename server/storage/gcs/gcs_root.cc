#include "server/storage/gcs/gcs_root.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/http/bucket_uri.h"
#include "server/storage/http/url.h"

namespace forebay::storage::gcs {
namespace {

// The longest names, in bytes. Source: "Bucket naming guidelines" and "Object
// naming guidelines" in Google's documentation.
constexpr std::size_t kMaxBucketBytes = 222;
constexpr std::size_t kMaxNameBytes = 1024;

bool IsBucketName(std::string_view name) {
  return name.size() >= 3 && name.size() <= kMaxBucketBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

}  // namespace

absl::StatusOr<std::string> EndpointFrom(const char* emulator_host) {
  if (emulator_host == nullptr || *emulator_host == '\0')
    return std::string("https://storage.googleapis.com");
  const std::string_view host = emulator_host;
  return http::ParseBaseUrl(host.find("://") == host.npos
                                ? absl::StrCat("http://", emulator_host)
                                : std::string(host));
}

GcsRoot::GcsRoot(std::string uri, std::string bucket, std::string bucket_url,
                 std::string prefix, std::string_view reader)
    : uri_(std::move(uri)),
      bucket_(std::move(bucket)),
      bucket_url_(std::move(bucket_url)),
      origin_(http::OriginOf(bucket_url_)),
      prefix_(std::move(prefix)),
      identity_(std::make_shared<const std::string>(
          absl::StrCat(bucket_url_, "/", prefix_) + '\0' +
          std::string(reader))) {}

absl::StatusOr<std::shared_ptr<const GcsRoot>> GcsRoot::Create(
    std::string_view uri, const std::string& endpoint,
    std::string_view reader) {
  auto parts = http::ParseBucketUri(uri, {.scheme = "gs://",
                                          .object_name = "name",
                                          .longest = kMaxNameBytes,
                                          .is_bucket = IsBucketName});
  if (!parts.ok()) return parts.status();
  std::string bucket_url = absl::StrCat(
      endpoint, "/storage/v1/b/", http::EscapeComponent(parts->bucket), "/o");
  return std::shared_ptr<const GcsRoot>(
      new GcsRoot(std::string(uri), std::move(parts->bucket),
                  std::move(bucket_url), std::move(parts->prefix), reader));
}

absl::StatusOr<std::string> GcsRoot::ObjectUrl(std::string_view object) const {
  const std::string name = prefix_ + std::string(object);
  if (object.empty() || name.size() > kMaxNameBytes ||
      name.find_first_of(std::string_view("\0\r\n", 3)) != name.npos)
    return absl::InvalidArgumentError("is not the name of an object");
  return absl::StrCat(bucket_url_, "/", http::EscapeComponent(name));
}

absl::StatusOr<std::string> GcsRoot::MediaUrl(std::string_view object,
                                              std::int64_t generation) const {
  FOREBAY_ASSIGN_OR_RETURN(const std::string url, ObjectUrl(object));
  return absl::StrCat(url, "?alt=media&generation=", generation,
                      "&ifGenerationMatch=", generation);
}

absl::StatusOr<std::string> GcsRoot::StatUrl(std::string_view object) const {
  FOREBAY_ASSIGN_OR_RETURN(const std::string url, ObjectUrl(object));
  return absl::StrCat(url, "?fields=name,size,generation");
}

std::string GcsRoot::ListUrl(std::string_view folder, bool one_level,
                             std::string_view page_token) const {
  std::string url = absl::StrCat(
      bucket_url_,
      "?prefix=", http::EscapeComponent(prefix_ + std::string(folder)),
      "&fields=nextPageToken,prefixes,items(name,size,generation)",
      "&maxResults=1000", one_level ? "&delimiter=%2F" : "");
  if (!page_token.empty())
    absl::StrAppend(&url, "&pageToken=", http::EscapeComponent(page_token));
  return url;
}

}  // namespace forebay::storage::gcs
