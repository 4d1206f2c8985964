#ifndef FOREBAY_SERVER_STORAGE_GCS_GCS_LISTING_H_
#define FOREBAY_SERVER_STORAGE_GCS_GCS_LISTING_H_

#include <functional>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/storage/gcs/gcs_root.h"
#include "server/storage/http/authorizer.h"
#include "server/storage/http/client.h"
#include "server/storage/http/object_list.h"
#include "server/storage/object_lister.h"

namespace forebay::storage::gcs {

using http::ListOptions;
using http::ListPage;

// Parses the JSON of a page of the objects whose names begin with `prefix`.
// Leaves out names that end with a slash, which stand for folders. DATA_LOSS
// says why `json` is not such a page. Thread-safe; never blocks.
absl::StatusOr<ListPage> ParseListPage(std::string_view json,
                                       std::string_view prefix);

// Parses the JSON of one object, as ParseListPage does.
absl::StatusOr<ListedObject> ParseObject(std::string_view json,
                                         std::string_view prefix);

// Returns how the objects of `root` are listed. `root` outlives the result.
// `authorizer` may be null.
http::PagedPlace ListsOf(const GcsRoot& root, http::Authorizer* authorizer);

// Lists the objects below `root`, as http::ListObjects does.
absl::Status ListObjects(http::Client* client, http::Authorizer* authorizer,
                         const GcsRoot& root,
                         const std::function<bool(ListedObject)>& each,
                         const ListOptions& options = {});

}  // namespace forebay::storage::gcs

#endif  // FOREBAY_SERVER_STORAGE_GCS_GCS_LISTING_H_
