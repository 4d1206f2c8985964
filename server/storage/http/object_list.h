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

// A page of a list of objects.
struct ListPage {
  std::vector<ListedObject> objects;
  // The folders, if only one level is listed: names below the root, each with a
  // slash at its end.
  std::vector<std::string> folders;
  // The token of the next page, or "" on the last page.
  std::string next_token;
};

// A place whose objects a server lists in pages, and how this kind of server is
// asked.
struct PagedPlace {
  // Returns the URL of a page of the list of objects below a folder. The folder
  // is "", or a name that ends with a slash. The token "" names the first page.
  // With `one_level`, folders directly below are listed by their names alone.
  std::function<std::string(std::string_view folder, bool one_level,
                            std::string_view page_token)>
      url;
  // Parses the body of a page. DATA_LOSS says why it is not a page.
  std::function<absl::StatusOr<ListPage>(std::string_view body)> parse;
  // The members of the Call that asks for a page.
  Authorizer* authorizer = nullptr;
  std::function<absl::Status(const HttpResponse&)> fault;
};

// Says which objects are listed.
struct ListOptions {
  // The folder below which objects are listed: "", or a name with its slash.
  std::string folder;
  // Receives the names of folders directly below `folder`, whose objects are
  // then not listed. If empty, objects at any depth are listed.
  std::function<void(std::string)> folders;
  std::stop_token stop;  // ends the listing early
};

// Returns DATA_LOSS: the server's list is wrong, for this reason.
absl::Status BrokenList(absl::string_view reason);

// Calls `each` with all objects of `place`, in the byte order of their names, a
// page at a time. Ends early once `each` returns false. Blocks, but not for
// long once `options.stop` is requested; must not be called on the engine's
// thread.
//
// The caller adds the place's name to errors: NOT_FOUND (no such bucket),
// PERMISSION_DENIED, UNAVAILABLE, DATA_LOSS (pages that form no valid list),
// CANCELLED (`stop` was requested), and those of the authorizer.
absl::Status ListObjects(Client* client, const PagedPlace& place,
                         const std::function<bool(ListedObject)>& each,
                         const ListOptions& options = {});

// Calls `list` for each of the folders, several at once, on threads that end
// before ListEach returns. Returns the first error, after which it makes no
// further call.
absl::Status ListEach(
    std::vector<std::string> folders,
    const std::function<absl::Status(const std::string& folder)>& list);

// Calls `each` with all objects of `place`, as ObjectLister::List does. The
// folders directly below the place are listed in parallel, on threads that end
// before ListByFolder returns. Blocking and errors are those of ListObjects.
absl::Status ListByFolder(Client* client, const PagedPlace& place,
                          const std::function<void(ListedObject)>& each,
                          const std::stop_token& stop);

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_OBJECT_LIST_H_
