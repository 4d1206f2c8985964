#ifndef FOREBAY_SERVER_STORAGE_HTTP_BUCKET_URI_H_
#define FOREBAY_SERVER_STORAGE_HTTP_BUCKET_URI_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace forebay::storage::http {

// The URIs of one kind of bucket.
struct BucketUriKind {
  std::string_view scheme;       // "s3://"
  std::string_view object_name;  // what it calls an object's name: "key"
  std::size_t longest = 0;       // bytes of that
  absl::FunctionRef<bool(std::string_view)> is_bucket;
};

// The parts of scheme://bucket/prefix.
struct BucketUri {
  std::string bucket;
  std::string prefix;  // empty, or ends in a slash
};

// INVALID_ARGUMENT, naming the URI: it is of another scheme, or neither a
// bucket nor an object can have such a name. Thread-safe; never blocks.
absl::StatusOr<BucketUri> ParseBucketUri(std::string_view uri,
                                         const BucketUriKind& kind);

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_BUCKET_URI_H_
