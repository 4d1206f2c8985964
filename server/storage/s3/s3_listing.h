#ifndef FOREBAY_SERVER_STORAGE_S3_S3_LISTING_H_
#define FOREBAY_SERVER_STORAGE_S3_S3_LISTING_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "server/storage/http/authorizer.h"
#include "server/storage/http/entity_tags.h"
#include "server/storage/http/object_list.h"
#include "server/storage/s3/s3_root.h"

namespace forebay::storage::s3 {

// Parses the XML of a page of ListObjectsV2, of objects whose keys begin with
// `prefix`. Leaves out keys that end with a slash, which stand for folders.
// Adds the objects' ETags to `tags`. DATA_LOSS says why `xml` is not such a
// page. Thread-safe; never blocks.
absl::StatusOr<http::ListPage> ParseListPage(std::string_view xml,
                                             std::string_view prefix,
                                             http::EntityTags* tags);

// Returns how the objects of `root` are listed. `root` and `tags` outlive the
// result; `authorizer` may be null.
http::PagedPlace ListsOf(const S3Root& root, http::Authorizer* authorizer,
                         http::EntityTags* tags);

}  // namespace forebay::storage::s3

#endif  // FOREBAY_SERVER_STORAGE_S3_S3_LISTING_H_
