#ifndef FOREBAY_SERVER_STORAGE_HTTP_BUCKET_URI_H_
#define FOREBAY_SERVER_STORAGE_HTTP_BUCKET_URI_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace forebay::storage::http {

// The rules for the URIs of one kind of bucket.
struct BucketUriKind {
  std::string_view scheme;  // such as "s3://"
  // The store's own word for an object's name, such as "key".
  std::string_view object_name;
  // The most bytes of an object's name.
  std::size_t longest = 0;
  // Whether a bucket can have that name.
  absl::FunctionRef<bool(std::string_view)> is_bucket;
};

// The parts of a URI scheme://bucket/prefix.
struct BucketUri {
  std::string bucket;
  std::string prefix;  // empty, or ends in a slash
};

// Returns the parts of the URI. INVALID_ARGUMENT, naming the URI, if it has
// another scheme, or if no bucket or object can have such a name. Thread-safe;
// never blocks.
absl::StatusOr<BucketUri> ParseBucketUri(std::string_view uri,
                                         const BucketUriKind& kind);

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_BUCKET_URI_H_
