#ifndef FOREBAY_SERVER_CACHE_LAST_LOOK_H_
#define FOREBAY_SERVER_CACHE_LAST_LOOK_H_

#include <string>

#include "server/storage/byte_source.h"

namespace forebay::cache {

// Asks roots whether objects are unchanged since they were read. Consecutive
// requests for one object share one question.
//
// Serves the requests of one call of Cache::Read, on its thread, which owns it.
// All of the requests came before the first of them is looked up, so the root's
// answer is new enough for each. Blocks only in the root's StillHas. Has no
// errors.
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
  // The object that was last asked about. Its root may have been destroyed
  // since, so the pointer is only compared. No later request has a new root at
  // the same address: all requests have owned their roots since Read was
  // called.
  const storage::Root* root_ = nullptr;
  std::string object_;
  storage::ObjectVersion version_;
  bool is_current_ = false;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_LAST_LOOK_H_
