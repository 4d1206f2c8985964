#include "client/core/subscription.h"

#include <utility>

namespace forebay::client::core {

std::shared_ptr<Subscription> Subscription::Create(
    std::unique_ptr<wire::Session> session) {
  std::shared_ptr<Subscription> subscription(
      new Subscription(std::move(session)));
  ForkHandlers::Add(subscription.get());
  return subscription;
}

Subscription::~Subscription() { ForkHandlers::Remove(this); }

Status Subscription::AttachSlots(const std::vector<proto::Fd>& fds,
                                 std::uint64_t slot_bytes,
                                 std::uint64_t lease_quota) {
  const std::lock_guard lock(mutex_);
  lease_quota_ = lease_quota;
  return slots_.Attach(fds, slot_bytes);
}

Status Subscription::AddSlots(const std::vector<proto::Fd>& fds) {
  const std::lock_guard lock(mutex_);
  return slots_.Add(fds);
}

std::uint32_t Subscription::slots() const {
  const std::lock_guard lock(mutex_);
  return slots_.size();
}

void Subscription::DetachSlots() {
  const std::lock_guard lock(mutex_);
  slots_.Detach();
}

Status Subscription::Lease(const proto::ReadyEntry& entry,
                           forebay_batch** out) {
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

Status Subscription::TakeLocked(const proto::ReadyEntry& entry,
                                forebay_batch* batch) {
  batch->mapping = slots_.Find(entry.slot);
  if (batch->mapping == nullptr)
    return Status(FOREBAY_INTERNAL,
                  "the daemon published a slot that it did not send");
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      ReadHeader(*batch->mapping, entry, &batch->header));
  batch->mapping->Watch();
  batch->data = batch->mapping->data();
  batch->lease = {.slot = entry.slot, .generation = entry.generation};
  batch->subscription = shared_from_this();
  held_.insert(batch);
  return Status();
}

void Subscription::Discard(const proto::ReadyEntry& entry) {
  {
    const std::lock_guard lock(mutex_);
    rings_.Push({.slot = entry.slot, .generation = entry.generation});
  }
  rings_.Notify();
}

void Subscription::Release(forebay_batch* batch) {
  // Keeps the subscription alive while EndLease locks it.
  const std::shared_ptr<Subscription> subscription =
      std::move(batch->subscription);
  if (batch->mapping != nullptr) subscription->EndLease(batch);
  delete batch;
}

void Subscription::EndLease(forebay_batch* batch) {
  {
    const std::lock_guard lock(mutex_);
    held_.erase(batch);
  }
  if (forked_.load()) return;
  // Before the daemon may write to the slot again, as a private page would hide
  // what it writes.
  batch->mapping->DropPrivatePages();
  bool last;
  {
    const std::lock_guard lock(mutex_);
    rings_.Push(batch->lease);
    last = ending_ && held_.empty();
  }
  rings_.Notify();
  if (last) session_->Shutdown();
}

void Subscription::EndWithLastLease() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  slots_.Detach();
  if (rings_.mapped()) rings_.Leave();
  if (held_.empty()) session_->Shutdown();
}

std::uint64_t Subscription::leases() const {
  const std::lock_guard lock(mutex_);
  return held_.size();
}

void Subscription::BeforeFork() {
  mutex_.lock();
  for (const forebay_batch* batch : held_) batch->mapping->MakePrivate();
}

void Subscription::AfterForkInParent() { mutex_.unlock(); }

void Subscription::AfterForkInChild() {
  if (!forked_.exchange(true)) {
    session_->Abandon();
    rings_.Unmap();
    slots_.Detach();
  }
  mutex_.unlock();
}

}  // namespace forebay::client::core
