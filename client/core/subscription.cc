#include "client/core/subscription.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

namespace forebay::client::core {
namespace {

// The failure of CallAfter is reported after this many tries. CallAfter fails
// while a stream is captured, which soon ends.
constexpr int kMaxOwedTries = 10;
constexpr char kNoSuchField[] = "the batch has no such field";
constexpr char kOnHost[] = "the field lies on the host";
constexpr std::uintptr_t kPerThreadStream = 2;  // CU_STREAM_PER_THREAD

// Batches of any subscription that wait to be freed, after the CUDA streams
// that used them are done. A thread of the CUDA driver adds them. This thread
// must not call CUDA, which frees memory, so a later call of the user's frees
// the batches. Thread-safe; lives as long as the process.
class DoneBatches {
 public:
  static DoneBatches& Get() {
    static auto& batches = *new DoneBatches;
    return batches;
  }

  void Add(forebay_batch* batch) {
    const std::lock_guard lock(mutex_);
    batches_.push_back(batch);
  }
  void Free() {
    std::vector<forebay_batch*> freed;
    {
      // In a forked child, the thread that holds the lock may not exist:
      // waiting would never end.
      const std::unique_lock lock(mutex_, std::try_to_lock);
      if (lock.owns_lock()) batches_.swap(freed);
    }
    for (const forebay_batch* const batch : freed) delete batch;
  }

 private:
  std::mutex mutex_;
  std::vector<forebay_batch*> batches_;
};

}  // namespace

std::shared_ptr<Subscription> Subscription::Create(
    std::unique_ptr<wire::Session> session) {
  std::shared_ptr<Subscription> subscription(
      new Subscription(std::move(session)));
  ForkHandlers::Add(subscription.get());
  return subscription;
}

Subscription::~Subscription() { ForkHandlers::Remove(this); }

void Subscription::LieOn(std::shared_ptr<device::Gpu> gpu,
                         const ImageTail& tail, std::uint64_t device_bytes) {
  gpu_ = std::move(gpu);
  tail_ = tail;
  device_bytes_ = device_bytes;
}

Status Subscription::Import(const std::vector<proto::Fd>& fds,
                            std::vector<proto::Fd>* hosts, Parts* parts) {
  for (size_t i = 0; i < fds.size(); ++i) {
    if (i % 2 == 0) {
      hosts->emplace_back(fcntl(fds[i].get(), F_DUPFD_CLOEXEC, 0));
      if (!hosts->back()) return ErrnoStatus(errno, "cannot take a slot");
      continue;
    }
    std::unique_ptr<device::ImportedMemory> part;
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        gpu_->Import(fds[i].get(), device_bytes_, &part));
    parts->push_back(std::move(part));
  }
  return Status();
}

Status Subscription::AttachSlots(const std::vector<proto::Fd>& fds,
                                 std::uint64_t slot_bytes,
                                 std::uint64_t lease_quota) {
  std::vector<proto::Fd> hosts;
  Parts parts;
  if (gpu_ != nullptr)
    FOREBAY_CLIENT_RETURN_IF_ERROR(Import(fds, &hosts, &parts));
  const std::lock_guard lock(mutex_);
  lease_quota_ = lease_quota;
  parts_.swap(parts);
  return slots_.Attach(gpu_ != nullptr ? hosts : fds, slot_bytes);
}

Status Subscription::AddSlots(const std::vector<proto::Fd>& fds) {
  std::vector<proto::Fd> hosts;
  Parts parts;
  if (gpu_ != nullptr)
    FOREBAY_CLIENT_RETURN_IF_ERROR(Import(fds, &hosts, &parts));
  const std::lock_guard lock(mutex_);
  parts_.insert(parts_.end(), parts.begin(), parts.end());
  return slots_.Add(gpu_ != nullptr ? hosts : fds);
}

std::uint32_t Subscription::slots() const {
  const std::lock_guard lock(mutex_);
  return slots_.size();
}

void Subscription::DetachSlots() {
  Parts parts;
  const std::lock_guard lock(mutex_);
  parts_.swap(parts);
  slots_.Detach();
}

Status Subscription::Lease(const proto::ReadyEntry& entry,
                           forebay_batch** out) {
  auto batch = std::make_unique<forebay_batch>();
  Status taken;
  bool copied;
  {
    const std::lock_guard lock(mutex_);
    copied = gpu_ == nullptr && held_.size() >= lease_quota_;
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
  if (gpu_ != nullptr) batch->part = parts_[entry.slot];
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      ReadHeader(*batch->mapping, batch->part == nullptr ? 0 : device_bytes_,
                 entry, &batch->header));
  FOREBAY_CLIENT_RETURN_IF_ERROR(tail_.Describe(&batch->header));
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

Status Subscription::Put(forebay_batch& batch, std::uint32_t index, void* to,
                         void* stream) {
  if (index >= batch.header.field_count)
    return Status(FOREBAY_INVALID_ARGUMENT, kNoSuchField);
  const proto::FieldLayout& field = batch.header.fields[index];
  if (field.place != proto::Place::kDevice)
    return Status(FOREBAY_INVALID_ARGUMENT, kOnHost);
  if (field.bytes == 0) return Status();
  FOREBAY_CLIENT_RETURN_IF_ERROR(BeginPut(batch, to, stream));
  const Subscription& subscription = *batch.subscription;
  return subscription.tail_.Run(*subscription.gpu_, stream, field,
                                batch.part->address() + field.offset,
                                reinterpret_cast<std::uintptr_t>(to));
}

Status Subscription::PutPart(forebay_batch& batch, std::uint32_t index,
                             std::uint64_t offset, std::uint64_t bytes,
                             void* to, void* stream) {
  if (index >= batch.header.field_count)
    return Status(FOREBAY_INVALID_ARGUMENT, kNoSuchField);
  const proto::FieldLayout& field = batch.header.fields[index];
  if (field.place != proto::Place::kDevice)
    return Status(FOREBAY_INVALID_ARGUMENT, kOnHost);
  if (field.kind == proto::FieldKind::kImage)
    return Status(FOREBAY_INVALID_ARGUMENT, "images are put as a whole");
  if (offset > field.bytes || bytes > field.bytes - offset)
    return Status(FOREBAY_INVALID_ARGUMENT, "the field has no such part");
  if (bytes == 0) return Status();
  FOREBAY_CLIENT_RETURN_IF_ERROR(BeginPut(batch, to, stream));
  return batch.subscription->gpu_->Copy(
      stream, batch.part->address() + field.offset + offset,
      reinterpret_cast<std::uintptr_t>(to), bytes);
}

Status Subscription::BeginPut(forebay_batch& batch, const void* to,
                              void* stream) {
  if (to == nullptr)
    return Status(FOREBAY_INVALID_ARGUMENT, "there is no memory to put it in");
  // CU_STREAM_PER_THREAD means another stream in each thread. A thread that
  // releases the batch would wait for its own stream.
  if (stream == reinterpret_cast<void*>(kPerThreadStream))
    return Status(FOREBAY_UNIMPLEMENTED,
                  "a batch cannot be put on the per-thread default stream");
  Subscription& subscription = *batch.subscription;
  bool captures = false;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      subscription.gpu_->IsCapturing(stream, &captures));
  if (captures)
    return Status(FOREBAY_FAILED_PRECONDITION,
                  "a CUDA graph captures the stream: take batches outside of "
                  "the capture");
  // The stream is noted before anything is queued, so that the lease also waits
  // for work that was queued only in part.
  const std::lock_guard lock(subscription.mutex_);
  if (std::find(batch.streams.begin(), batch.streams.end(), stream) ==
      batch.streams.end())
    batch.streams.push_back(stream);
  return Status();
}

void Subscription::Release(forebay_batch* batch) {
  // The batch may own the last reference to the subscription, which must
  // outlive this call.
  const std::shared_ptr<Subscription> subscription = batch->subscription;
  if (!batch->streams.empty() && !subscription->forked_.load()) {
    subscription->ReleaseAfterStreams(batch);
    return;
  }
  if (batch->mapping != nullptr) subscription->EndLease(batch);
  delete batch;
}

void Subscription::ReleaseAfterStreams(forebay_batch* batch) {
  const std::vector<void*> streams = batch->streams;
  batch->awaited = static_cast<std::uint32_t>(streams.size());
  bool ending;
  {
    const std::lock_guard lock(mutex_);
    ++awaiting_;
    ending = ending_;
  }
  for (void* const stream : streams)
    static_cast<void>(CallAfter({batch, stream}));
  // A closed loader makes no further call that would free the batch.
  if (ending) AwaitStreams();
}

Status Subscription::CallAfter(const Awaited& awaited) {
  Status queued = gpu_->CallAfter(awaited.stream, OnStreamDone, awaited.batch);
  if (queued.ok()) return queued;
  const std::lock_guard lock(mutex_);
  owed_.push_back(awaited);
  return queued;
}

void Subscription::OnStreamDone(void* argument) {
  auto* const batch = static_cast<forebay_batch*>(argument);
  if (batch->awaited.fetch_sub(1) > 1) return;
  const std::shared_ptr<Subscription> subscription = batch->subscription;
  subscription->EndLease(batch);
  DoneBatches::Get().Add(batch);
  const std::lock_guard lock(subscription->mutex_);
  --subscription->awaiting_;
  subscription->stream_done_.notify_all();
}

void Subscription::Collect() {
  std::vector<Awaited> owed;
  {
    const std::lock_guard lock(mutex_);
    owed_.swap(owed);
  }
  DoneBatches::Get().Free();
  Status failed;
  for (const Awaited& awaited : owed) {
    Status queued = CallAfter(awaited);
    if (!queued.ok()) failed = std::move(queued);
  }
  const std::lock_guard lock(mutex_);
  owed_tries_ = failed.ok() ? 0 : owed_tries_ + 1;
  owed_error_ = std::move(failed);
}

void Subscription::ReleaseLost() {
  std::vector<forebay_batch*> lost;
  {
    const std::lock_guard lock(mutex_);
    owed_.clear();
    for (forebay_batch* const batch : held_)
      if (batch->awaited.exchange(0) > 0) lost.push_back(batch);
    awaiting_ -= lost.size();
  }
  for (forebay_batch* const batch : lost) {
    EndLease(batch);
    delete batch;
  }
}

Status Subscription::CheckDevice() {
  if (gpu_ == nullptr) return Status();
  Collect();
  Status polled = gpu_->Poll();
  if (gpu_->is_lost()) ReleaseLost();
  if (!polled.ok()) return polled;
  const std::lock_guard lock(mutex_);
  // The reason for the refusal, such as the capture of a graph, may pass soon.
  if (owed_tries_ >= kMaxOwedTries) return owed_error_;
  if (held_.size() < awaiting_ + std::max<std::uint64_t>(lease_quota_, 1))
    return Status();
  return Status(FOREBAY_RESOURCE_EXHAUSTED,
                std::to_string(lease_quota_) +
                    " batches on the GPU are held: release them first, once "
                    "their fields are put elsewhere");
}

void Subscription::AwaitStreams() {
  constexpr std::chrono::seconds kLongest(2);
  if (gpu_ == nullptr) return;
  Collect();
  if (!gpu_->Poll().ok() && gpu_->is_lost()) ReleaseLost();
  {
    std::unique_lock lock(mutex_);
    stream_done_.wait_for(lock, kLongest, [this] { return awaiting_ == 0; });
  }
  if (!gpu_->Poll().ok() && gpu_->is_lost()) ReleaseLost();
  Collect();
}

void Subscription::EndLease(forebay_batch* batch) {
  {
    const std::lock_guard lock(mutex_);
    held_.erase(batch);
  }
  if (forked_.load()) return;
  // Private pages would hide what the daemon writes to the slot later, so they
  // are dropped first.
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
  AwaitStreams();
  Parts parts;
  const std::lock_guard lock(mutex_);
  ending_ = true;
  parts_.swap(parts);
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
