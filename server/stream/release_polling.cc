#include "server/stream/release_polling.h"

namespace forebay::stream {

bool ReleasePolling::TellMembers() {
  while (members_->SetLooking(threads_ > 0)) {
    // A member may have pushed releases before it saw that polling ended.
    members_->TakeReleases(batch_cache_->pool());
    if (members_->Heard() != heard_) return true;
  }
  return false;
}

}  // namespace forebay::stream
