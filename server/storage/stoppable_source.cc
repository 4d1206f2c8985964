#include "server/storage/stoppable_source.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace forebay::storage {

void StoppableSource::Read(absl::Span<ReadRequest> requests) {
  if (!Enter()) {
    for (ReadRequest& request : requests) {
      const ReadDone done = std::exchange(request.done, nullptr);
      done(Stopped(request.object));
    }
    return;
  }
  below_->Read(requests);
  Leave();
}

void StoppableSource::Share(std::uint64_t ticket, const ReadPurpose& purpose) {
  if (!Enter()) return;
  below_->Share(ticket, purpose);
  Leave();
}

void StoppableSource::Stop() {
  base::MutexLock lock(&mutex_);
  stopped_ = true;
  while (inside_ > 0) quiet_.Wait(&mutex_);
}

absl::Status StoppableSource::Stopped(const std::string& object) {
  return absl::CancelledError(
      absl::StrCat(object, ": the daemon is shutting down"));
}

bool StoppableSource::Enter() {
  base::MutexLock lock(&mutex_);
  if (stopped_) return false;
  ++inside_;
  return true;
}

void StoppableSource::Leave() {
  base::MutexLock lock(&mutex_);
  if (--inside_ == 0) quiet_.NotifyAll();
}

}  // namespace forebay::storage
