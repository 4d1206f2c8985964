#include "server/storage/http/bucket_uri.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace forebay::storage::http {

absl::StatusOr<BucketUri> ParseBucketUri(std::string_view uri,
                                         const BucketUriKind& kind) {
  const std::string name(uri);
  if (!uri.starts_with(kind.scheme)) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": is not a URI ", std::string(kind.scheme), "bucket/prefix"));
  }
  std::string_view rest = uri.substr(kind.scheme.size());
  const std::string_view bucket = rest.substr(0, rest.find('/'));
  rest.remove_prefix(bucket.size());
  if (!kind.is_bucket(bucket)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": no bucket can have that name"));
  }
  while (rest.ends_with('/')) rest.remove_suffix(1);
  BucketUri parts{.bucket = std::string(bucket), .prefix = {}};
  if (!rest.empty())
    parts.prefix = absl::StrCat(std::string(rest.substr(1)), "/");
  if (parts.prefix.size() > kind.longest ||
      parts.prefix.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": no object's ", std::string(kind.object_name),
                     " can begin so"));
  }
  return parts;
}

}  // namespace forebay::storage::http
