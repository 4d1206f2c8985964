#ifndef FOREBAY_SERVER_STORAGE_OBJECT_LISTER_H_
#define FOREBAY_SERVER_STORAGE_OBJECT_LISTER_H_

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"

namespace forebay::storage {

// An object below a root, and its version.
struct ListedObject {
  std::string name;  // below the root
  ObjectVersion version;
};

// Lists the objects below a root, with their versions, as directories list
// files.
//
// Thread-safe. The caller owns it; all calls return before it goes. They block
// for the network, but not for long once their stop is requested. Errors name
// the reason and the object, and leave the root's name to the caller: NOT_FOUND
// (no such bucket or object), PERMISSION_DENIED, INVALID_ARGUMENT (a name that
// no object can have), UNIMPLEMENTED (the server has no such answer),
// UNAVAILABLE (a passing fault), DATA_LOSS (a malformed answer), CANCELLED
// (stopped).
class ObjectLister {
 public:
  virtual ~ObjectLister() = default;

  // Calls `each` with every object below `root`. The objects of one folder
  // right below it (their names share what precedes the first slash) come one
  // after another, in the order of their names' bytes; so do those in no
  // folder. Several threads call `each` at once, for different folders.
  virtual absl::Status List(const Root& root,
                            const std::function<void(ListedObject)>& each,
                            const std::stop_token& stop) = 0;

  // Returns the object's current version.
  virtual absl::StatusOr<ObjectVersion> Stat(const Root& root,
                                             std::string_view object,
                                             const std::stop_token& stop) = 0;
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_OBJECT_LISTER_H_
