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

// An object below a root.
struct ListedObject {
  std::string name;  // below the root
  ObjectVersion version;
};

// Tells which objects lie below a root, and in which versions: what a folder's
// directories tell of files.
//
// Thread-safe. The caller owns it and lets its calls return before it goes.
// They block for the network, but not for long once their stop is requested.
// Errors give the reason, and the object that it is about, and leave the root's
// name to the caller: NOT_FOUND (no such bucket or object), PERMISSION_DENIED,
// INVALID_ARGUMENT (a name that no object can have), UNIMPLEMENTED (the server
// tells no such thing), UNAVAILABLE (a passing fault), DATA_LOSS (nonsense),
// CANCELLED (stopped).
class ObjectLister {
 public:
  virtual ~ObjectLister() = default;

  // Hands over every object below `root`. Those of one folder right below it
  // (whose names share what precedes the first slash), and those in none, come
  // one after another in the order of their names' bytes; `each` is called on
  // several threads at once, but for different folders.
  virtual absl::Status List(const Root& root,
                            const std::function<void(ListedObject)>& each,
                            const std::stop_token& stop) = 0;

  // What the object is now.
  virtual absl::StatusOr<ObjectVersion> Stat(const Root& root,
                                             std::string_view object,
                                             const std::stop_token& stop) = 0;
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_OBJECT_LISTER_H_
