#ifndef FOREBAY_SERVER_CACHE_LAST_LOOK_H_
#define FOREBAY_SERVER_CACHE_LAST_LOOK_H_

#include <string>

#include "server/storage/byte_source.h"

namespace forebay::cache {

// Asks roots whether objects are still what they were when they were read. The
// root is asked once for requests of one object that follow each other.
//
// Serves the requests of one call of Cache::Read, on its thread: all of them
// came before the first is looked up, so the answer is new enough for each.
// Blocks only in the root's StillHas. No errors.
class LastLook {
 public:
  // Returns whether bytes of revision `cached` may be given out without asking
  // the source.
  bool IsCurrent(const storage::ReadRequest& request,
                 const storage::Revision& cached) {
    storage::ObjectVersion version = request.version;
    version.revision = cached;
    if (request.root.get() != root_ || version != version_ ||
        request.object != object_) {
      is_current_ = request.root->StillHas(request.object, version);
      root_ = request.root.get();
      object_ = request.object;
      version_ = version;
    }
    return is_current_;
  }

 private:
  // The object of the last look. The requests that are still to come keep their
  // roots, so the address is none of theirs if its root is gone.
  const storage::Root* root_ = nullptr;
  std::string object_;
  storage::ObjectVersion version_;
  bool is_current_ = false;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_LAST_LOOK_H_
