#ifndef FOREBAY_SERVER_CACHE_LAST_LOOK_H_
#define FOREBAY_SERVER_CACHE_LAST_LOOK_H_

#include <string>

#include "server/storage/byte_source.h"

namespace forebay::cache {

// Asks roots whether objects are unchanged since they were read. Consecutive
// requests for one object share one question.
//
// Each call of Cache::Read owns a LastLook and uses it for its requests, on its
// own thread. All of the requests were made before the first lookup, so an
// answer of the root is new enough for each of them. Blocks only in the root's
// StillHas. Has no errors.
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
  // The object that was asked about last. Its root may have been destroyed
  // since, so `root_` is only compared. No later request has a new root at the
  // same address: all requests have owned their roots since Read was called.
  const storage::Root* root_ = nullptr;
  std::string object_;
  storage::ObjectVersion version_;
  bool is_current_ = false;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_LAST_LOOK_H_
