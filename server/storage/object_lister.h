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

// An object that lies below a root, and its version.
struct ListedObject {
  std::string name;  // path below the root
  ObjectVersion version;
};

// Lists the objects below a root, with their versions.
//
// Thread-safe. The caller owns the lister, and destroys it only after all calls
// have returned. Calls block for the network, but not for long once `stop` is
// requested.
//
// Errors name the reason and the object; the caller adds the root's name:
// - NOT_FOUND: the bucket or object does not exist.
// - PERMISSION_DENIED.
// - INVALID_ARGUMENT: a name that no object can have.
// - UNIMPLEMENTED: the server does not support the request.
// - UNAVAILABLE: a fault that may pass.
// - DATA_LOSS: a malformed answer.
// - CANCELLED: `stop` was requested.
class ObjectLister {
 public:
  virtual ~ObjectLister() = default;

  // Calls `each` with every object below `root`. Objects whose names are equal
  // up to the first slash form a folder. The objects of a folder come one after
  // another, in the byte order of their names. Objects without a folder also
  // come in that order. Several threads call `each` at once, for different
  // folders.
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
