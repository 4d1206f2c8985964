// How a loader that has lost its daemon finds another.

#include <time.h>

#include <algorithm>
#include <utility>

#include "client/loader.h"

namespace forebay::client {
namespace {

// False if a signal came first.
bool Sleep(std::int64_t nanos) {
  const struct timespec pause = {nanos / 1'000'000'000, nanos % 1'000'000'000};
  return clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr) == 0;
}

}  // namespace

bool Loader::IsAttached() {
  // First: in a forked child, the lock may be that of a thread there is not.
  if (!CheckAlive().ok()) return false;
  std::shared_ptr<Link> link;
  {
    const std::lock_guard lock(attachment_mutex_);
    link = attachment_.link;
  }
  return !link->session().IsLost();
}

Status Loader::OpenLocked(const Deadline& deadline) {
  if (attachment_.refused || attachment_.link->session().IsLost()) {
    interrupted_ = epoch_under_way_;
    Attachment next;
    FOREBAY_CLIENT_RETURN_IF_ERROR(opening_->Ask(&next.link, &next.request));
    Replace(std::move(next));
  }
  if (attachment_.loader_id.has_value()) return Status();
  Reply reply;
  Status status = attachment_.link->session().Await(
      attachment_.request, deadline.Remaining(), &reply);
  if (status.ok()) status = TakeOpened(std::move(reply));
  attachment_.refused = !status.ok() && status.code != FOREBAY_TIMEOUT &&
                        status.code != FOREBAY_INTERRUPTED;
  return status;
}

void Loader::Replace(Attachment attachment) {
  {
    const std::lock_guard lock(attachment_mutex_);
    std::swap(attachment_, attachment);
  }
  attachment.link->EndWithLastLease();
}

Status Loader::Reattach(std::int64_t timeout_nanos) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckAlive());
  const Deadline deadline(timeout_nanos);
  const std::lock_guard lock(reader_);
  return ReattachLocked(deadline);
}

Status Loader::ReattachLocked(const Deadline& deadline) {
  if (!missed_nanos_.has_value()) {
    missed_nanos_ = NowNanos();
    if (!interrupted_)
      away_ = Status(FOREBAY_UNAVAILABLE, "the Forebay daemon is away");
    next_try_nanos_ = 0;
    backoff_.Reset();
  }
  while (true) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(CheckNotClosed());
    const std::int64_t pause = next_try_nanos_ - NowNanos();
    if (pause > 0) {
      if (!Sleep(std::min({pause, kSliceNanos, deadline.Remaining()})))
        return Status(FOREBAY_INTERRUPTED, "interrupted by a signal");
      if (deadline.Passed()) return away_;
      continue;
    }
    Status status = TryLocked(deadline);
    if (status.MayPass()) away_ = status;
    if (status.code != FOREBAY_TIMEOUT && status.code != FOREBAY_INTERRUPTED)
      next_try_nanos_ = NowNanos() + backoff_.Next();
    if (!status.MayPass() || deadline.Passed()) return status;
  }
}

Status Loader::TryLocked(const Deadline& deadline) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(OpenLocked(deadline));
  if (!epoch_under_way_ || !interrupted_) return Status();
  Status status = StartEpochLocked();
  // A lack, such as of descriptors, may itself have interrupted the epoch.
  if (status.code == FOREBAY_RESOURCE_EXHAUSTED) status.code = away_.code;
  return status;
}

Status Loader::RideLocked(Status status, const Deadline& deadline) {
  if (patience_nanos_ == 0) return status;
  while (true) {
    // Also of a loader that is attached at once, and finds its source away
    // again and again.
    if (status.MayPass() && missed_nanos_.has_value() &&
        NowNanos() - *missed_nanos_ >= patience_nanos_) {
      missed_nanos_.reset();
      return status;
    }
    const Deadline slice(std::min(kSliceNanos, deadline.Remaining()));
    status = ReattachLocked(slice);
    if (!status.MayPass() && status.code != FOREBAY_TIMEOUT) return status;
    if (deadline.Passed())
      return Status(FOREBAY_TIMEOUT, "the Forebay daemon is not back yet");
  }
}

}  // namespace forebay::client
