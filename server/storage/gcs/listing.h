#ifndef FOREBAY_SERVER_STORAGE_GCS_LISTING_H_
#define FOREBAY_SERVER_STORAGE_GCS_LISTING_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"
#include "server/storage/gcs/gcs_root.h"
#include "server/storage/http/authorizer.h"
#include "server/storage/http/client.h"

namespace forebay::storage::gcs {

// An object below a root.
struct ListedObject {
  std::string name;  // below the root
  ObjectVersion version;
};

// One answer of the list of objects.
struct ListPage {
  std::vector<ListedObject> objects;
  std::string next_token;  // "": this is the last page
};

// Reads the JSON of a page of the objects whose names begin with `prefix`;
// those that end with a slash stand for folders and are left out. DATA_LOSS: it
// is not such a page; says why.
absl::StatusOr<ListPage> ParseListPage(std::string_view json,
                                       std::string_view prefix);

// Hands all objects below `root` to `each`, in the order of their names' bytes,
// a page at a time, until there are no more or `each` says false. Blocks; not
// to be called on the engine's thread. `authorizer` may be null. Errors, which
// name the root: NOT_FOUND (no such bucket), PERMISSION_DENIED, UNAVAILABLE,
// DATA_LOSS (pages that make no list), and those of the authorizer.
absl::Status ListObjects(http::Client* client, http::Authorizer* authorizer,
                         const GcsRoot& root,
                         const std::function<bool(ListedObject)>& each);

}  // namespace forebay::storage::gcs

#endif  // FOREBAY_SERVER_STORAGE_GCS_LISTING_H_
