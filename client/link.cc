#include "client/link.h"

#include <utility>

namespace forebay::client {

std::shared_ptr<Link> Link::Create(std::unique_ptr<Session> session) {
  std::shared_ptr<Link> link(new Link(std::move(session)));
  ForkHandlers::Add(link.get());
  return link;
}

Link::~Link() { ForkHandlers::Remove(this); }

Status Link::CheckAlive() const { return forked_.load() ? Forked() : Status(); }

Status Link::Forked() {
  return Status(FOREBAY_FORKED,
                "this loader belongs to the process that this one was forked "
                "from: open another here");
}

Status Link::AttachSlots(const std::vector<Fd>& fds, std::uint64_t slot_bytes,
                         std::uint32_t lease_quota) {
  const std::lock_guard lock(mutex_);
  lease_quota_ = lease_quota;
  return slots_.Attach(fds, slot_bytes);
}

Status Link::AddSlots(const std::vector<Fd>& fds) {
  const std::lock_guard lock(mutex_);
  return slots_.Add(fds);
}

std::uint32_t Link::slots() const {
  const std::lock_guard lock(mutex_);
  return slots_.size();
}

void Link::DetachSlots() {
  const std::lock_guard lock(mutex_);
  slots_.Detach();
}

Status Link::Lease(const proto::ReadyEntry& entry, forebay_batch** out) {
  auto batch = std::make_unique<forebay_batch>();
  Status taken;
  bool copied;
  {
    const std::lock_guard lock(mutex_);
    copied = held_.size() >= lease_quota_;
    taken = TakeLocked(entry, batch.get());
  }
  if (!taken.ok()) {
    Discard(entry);
    return taken;
  }
  if (!copied) {
    *out = batch.release();
    return Status();
  }
  std::unique_ptr<forebay_batch> copy;
  const Status status = CopyBatch(*batch, &copy);
  Release(batch.release());
  FOREBAY_CLIENT_RETURN_IF_ERROR(status);
  rings_.CountCopy();
  *out = copy.release();
  return Status();
}

Status Link::TakeLocked(const proto::ReadyEntry& entry, forebay_batch* batch) {
  batch->mapping = slots_.Find(entry.slot);
  if (batch->mapping == nullptr)
    return Status(FOREBAY_INTERNAL,
                  "the daemon published a slot that it did not send");
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      ReadHeader(*batch->mapping, entry, &batch->header));
  batch->mapping->Lend();
  batch->data = batch->mapping->data();
  batch->lease = {.slot = entry.slot, .generation = entry.generation};
  batch->link = shared_from_this();
  held_.insert(batch);
  return Status();
}

void Link::Discard(const proto::ReadyEntry& entry) {
  {
    const std::lock_guard lock(mutex_);
    rings_.Push({.slot = entry.slot, .generation = entry.generation});
  }
  rings_.Notify();
}

void Link::Release(forebay_batch* batch) {
  // The link must outlive the lock that EndLease takes.
  const std::shared_ptr<Link> link = std::move(batch->link);
  if (batch->mapping != nullptr) link->EndLease(batch);
  delete batch;
}

void Link::EndLease(forebay_batch* batch) {
  {
    const std::lock_guard lock(mutex_);
    held_.erase(batch);
  }
  if (forked_.load()) return;
  // Before the daemon may write to the slot again: a page that is private still
  // would hide what it writes.
  batch->mapping->Renew();
  bool last;
  {
    const std::lock_guard lock(mutex_);
    rings_.Push(batch->lease);
    last = ending_ && held_.empty();
  }
  rings_.Notify();
  if (last) session_->Shutdown();
}

void Link::EndWithLastLease() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  slots_.Detach();
  if (rings_.mapped()) rings_.Leave();
  if (held_.empty()) session_->Shutdown();
}

std::uint64_t Link::leases() const {
  const std::lock_guard lock(mutex_);
  return held_.size();
}

void Link::BeforeFork() {
  mutex_.lock();
  for (const forebay_batch* batch : held_) batch->mapping->Freeze();
}

void Link::AfterForkInParent() { mutex_.unlock(); }

void Link::AfterForkInChild() {
  if (!forked_.exchange(true)) {
    session_->Abandon();
    rings_.Unmap();
    slots_.Detach();
  }
  mutex_.unlock();
}

}  // namespace forebay::client
