#ifndef FOREBAY_SERVER_STORAGE_HTTP_OBJECT_LIST_H_
#define FOREBAY_SERVER_STORAGE_HTTP_OBJECT_LIST_H_

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/storage/http/authorizer.h"
#include "server/storage/http/client.h"
#include "server/storage/http/message.h"
#include "server/storage/object_lister.h"

namespace forebay::storage::http {

// One page of a list of objects.
struct ListPage {
  std::vector<ListedObject> objects;
  // In a list of one level: names below the root, each with its slash.
  std::vector<std::string> folders;
  std::string next_token;  // "": this is the last page
};

// The lists of one place, as its kind of server writes them.
struct PagedPlace {
  // Returns the URL of a page of the list of objects below a folder ("", or a
  // name that ends with a slash). The token "" names the first page. If
  // `one_level`, the list has only the names of the folders right below it.
  std::function<std::string(std::string_view folder, bool one_level,
                            std::string_view page_token)>
      url;
  // Parses the body of a page. DATA_LOSS says why it is none.
  std::function<absl::StatusOr<ListPage>(std::string_view body)> parse;
  // As a Call's.
  Authorizer* authorizer = nullptr;
  std::function<absl::Status(const Answer&)> fault;
};

struct ListOptions {
  std::string folder;  // list below this alone: "", or a name with its slash
  // Called with the names of folders right below it, whose objects are then not
  // listed. If empty, objects at any depth are listed.
  std::function<void(std::string)> folders;
  std::stop_token stop;  // ends the list before its end
};

// Returns DATA_LOSS for a list that is none.
absl::Status BrokenList(absl::string_view reason);

// Calls `each` with all objects of `place`, in the order of their names' bytes,
// a page at a time, until there are no more or `each` returns false. Blocks,
// but not for long once its stop is requested; not to be called on the engine's
// thread. Errors, which leave the place's name to the caller: NOT_FOUND (no
// such bucket), PERMISSION_DENIED, UNAVAILABLE, DATA_LOSS (pages that make no
// list), CANCELLED (stopped), and those of the authorizer.
absl::Status ListObjects(Client* client, const PagedPlace& place,
                         const std::function<bool(ListedObject)>& each,
                         const ListOptions& options = {});

// Calls `list` for each of the folders, some at once, on threads that end
// before it returns. Returns the first error, after which it calls no more.
absl::Status ListEach(
    std::vector<std::string> folders,
    const std::function<absl::Status(const std::string& folder)>& list);

// Calls `each` with all objects of `place`, as ObjectLister::List does: lists
// the folders right below it side by side, on threads that end before it
// returns. Otherwise as ListObjects.
absl::Status ListByFolder(Client* client, const PagedPlace& place,
                          const std::function<void(ListedObject)>& each,
                          const std::stop_token& stop);

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_OBJECT_LIST_H_
