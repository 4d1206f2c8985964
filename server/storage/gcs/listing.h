#ifndef FOREBAY_SERVER_STORAGE_GCS_LISTING_H_
#define FOREBAY_SERVER_STORAGE_GCS_LISTING_H_

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/storage/gcs/gcs_root.h"
#include "server/storage/http/authorizer.h"
#include "server/storage/http/client.h"
#include "server/storage/object_lister.h"

namespace forebay::storage::gcs {

// One page of a list of objects.
struct ListPage {
  std::vector<ListedObject> objects;
  // In a list of one level: names below the root, each with its slash.
  std::vector<std::string> folders;
  std::string next_token;  // "": this is the last page
};

// Parses the JSON of a page of the objects whose names begin with `prefix`.
// Leaves out names that end with a slash: they stand for folders. DATA_LOSS
// says why it is not such a page.
absl::StatusOr<ListPage> ParseListPage(std::string_view json,
                                       std::string_view prefix);

// Parses the JSON of one object, as ParseListPage does.
absl::StatusOr<ListedObject> ParseObject(std::string_view json,
                                         std::string_view prefix);

struct ListOptions {
  std::string folder;  // list below this alone: "", or a name with its slash
  // Called with the names of folders right below it, whose objects are then not
  // listed. If empty, objects at any depth are listed.
  std::function<void(std::string)> folders;
  std::stop_token stop;  // ends the list before its end
};

// Calls `each` with all objects below `root`, in the order of their names'
// bytes, a page at a time, until there are no more or `each` returns false.
// Blocks, but not for long once its stop is requested; not to be called on the
// engine's thread. `authorizer` may be null. Errors, which leave the root's
// name to the caller: NOT_FOUND (no such bucket), PERMISSION_DENIED,
// UNAVAILABLE, DATA_LOSS (pages that make no list), CANCELLED (stopped), and
// those of the authorizer.
absl::Status ListObjects(http::Client* client, http::Authorizer* authorizer,
                         const GcsRoot& root,
                         const std::function<bool(ListedObject)>& each,
                         const ListOptions& options = {});

}  // namespace forebay::storage::gcs

#endif  // FOREBAY_SERVER_STORAGE_GCS_LISTING_H_
