#include "client/core/loader.h"

#include <time.h>

#include <algorithm>
#include <string>
#include <utility>

#include "client/base/fork_handlers.h"
#include "client/core/batch.h"
#include "client/core/subscription.h"

namespace forebay::client::core {
namespace {

// Sleeps for `nanos` nanoseconds. Returns false if a signal came first.
bool Sleep(std::int64_t nanos) {
  const struct timespec pause = {nanos / 1'000'000'000, nanos % 1'000'000'000};
  return clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr) == 0;
}

}  // namespace

Loader::Loader(std::unique_ptr<const OpenRequest> open_request,
               std::shared_ptr<RemoteLoader> remote,
               const forebay_loader_options& options)
    : open_request_(std::move(open_request)),
      reattach_nanos_(Nanos(options.reattach_seconds)),
      is_coordinated_(options.order == FOREBAY_COORDINATED),
      forks_(ForkHandlers::Forks()),
      refusal_(open_request_->refusal().c_str()),
      remote_(std::move(remote)) {}

Status Loader::Create(const forebay_loader_options& options,
                      const wire::Dataset* dataset,
                      message::PipelineSpec pipeline,
                      std::unique_ptr<Loader>* out) {
  std::unique_ptr<const OpenRequest> open_request;
  FOREBAY_CLIENT_RETURN_IF_ERROR(OpenRequest::Create(
      options, dataset, std::move(pipeline), &open_request));
  std::shared_ptr<RemoteLoader> remote;
  FOREBAY_CLIENT_RETURN_IF_ERROR(RemoteLoader::Request(*open_request, &remote));
  out->reset(new Loader(std::move(open_request), std::move(remote), options));
  return Status();
}

Status Loader::CheckNotForked() const {
  if (forks_ == ForkHandlers::Forks()) return Status();
  return Status(FOREBAY_FORKED,
                "this loader belongs to the process that this one was forked "
                "from: open another here");
}

Status Loader::CheckNotClosed() const {
  if (!closed_.load()) return Status();
  return Status(FOREBAY_FAILED_PRECONDITION, "the loader is closed");
}

Status Loader::CheckOpen() const {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckNotForked());
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckNotClosed());
  return CheckOpened();
}

Status Loader::GetOpened(const message::LoaderOpened** out) const {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckNotForked());
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpened());
  *out = &opened_;
  return Status();
}

Status Loader::CheckUnderWay(std::uint64_t iteration) const {
  if (iteration == 0 || iteration == iteration_.load()) return Status();
  return Status(FOREBAY_FAILED_PRECONDITION,
                "another iteration of this loader has begun: this one is over");
}

Status Loader::Open(std::int64_t timeout_nanos) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckNotForked());
  const Deadline deadline(timeout_nanos);
  while (true) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(CheckNotClosed());
    if (open_.load()) return Status();
    // The lock is held for one slice at a time, so that Close gets its turn.
    const Deadline slice(std::min(kSliceNanos, deadline.Remaining()));
    const std::lock_guard lock(reader_);
    Status status = ResumeLocked(slice);
    // The first Open waits for a daemon that is away. If a daemon cannot reach
    // the dataset, it reports that at once.
    if (status.MayPass() && !IsAttached())
      status = RetryLocked(std::move(status), slice);
    if (status.code != FOREBAY_TIMEOUT || deadline.Passed()) return status;
  }
}

Status Loader::OpenLocked(const Deadline& deadline) {
  if (refused_ || remote_->IsLost()) {
    interrupted_ = epoch_under_way_;
    std::shared_ptr<RemoteLoader> remote;
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        RemoteLoader::Request(*open_request_, &remote));
    {
      const std::lock_guard lock(remote_mutex_);
      std::swap(remote_, remote);
    }
    remote->subscription().EndWithLastLease();
    refused_ = false;
  }
  if (remote_->is_open()) return Status();
  message::LoaderOpened opened;
  proto::Fd class_list;
  Status status = remote_->Open(deadline.Remaining(), &opened, &class_list);
  if (status.ok()) status = NoteOpened(std::move(opened), class_list);
  refused_ = !status.ok() && status.code != FOREBAY_TIMEOUT &&
             status.code != FOREBAY_INTERRUPTED;
  return status;
}

Status Loader::NoteOpened(message::LoaderOpened opened,
                          const proto::Fd& class_list) {
  if (open_request_->gpu() != nullptr) {
    refusals_.push_back(opened.placement ? opened.placement->refusal : "");
    refusal_ = refusals_.back().c_str();
  }
  if (open_.load()) {
    if (opened.dataset_version == opened_.dataset_version) return Status();
    remote_->subscription().session().Shutdown();
    return Status(
        FOREBAY_FAILED_PRECONDITION,
        open_request_->uri() +
            " has changed since this loader was opened: open another");
  }
  if (!opened.classes) opened.classes.emplace();
  if (class_list) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        wire::ReadClassList(class_list, &*opened.classes));
  }
  opened_ = std::move(opened);
  open_.store(true);
  return Status();
}

Status Loader::StartEpoch(std::uint64_t epoch, std::uint64_t first_sample) {
  return Start(EpochPosition(epoch, first_sample, is_coordinated_));
}

Status Loader::StartListedEpoch(std::uint64_t epoch,
                                const std::int64_t* samples, size_t count,
                                std::uint64_t first_sample) {
  EpochPosition position(epoch, first_sample, is_coordinated_);
  FOREBAY_CLIENT_RETURN_IF_ERROR(position.SetList(samples, count));
  return Start(std::move(position));
}

Status Loader::Start(EpochPosition position) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  FOREBAY_CLIENT_RETURN_IF_ERROR(position.Check());
  ++iteration_;
  const std::lock_guard lock(reader_);
  if (epoch_under_way_) {
    Status status = StopEpochLocked();
    if (!status.ok() && !status.MayPass()) return status;
  }
  position_ = std::move(position);
  away_since_nanos_.reset();
  epoch_under_way_ = true;
  Status status = StartEpochLocked();
  if (status.MayPass()) {
    status = InterruptLocked(std::move(status));
    do {
      status = RetryLocked(std::move(status), Deadline(-1));
    } while (status.code == FOREBAY_INTERRUPTED);
  }
  if (!status.ok() && !status.MayPass()) EndEpochLocked(status);
  return status;
}

Status Loader::StartEpochLocked() {
  message::EpochStarted started;
  std::vector<proto::Fd> slots;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      remote_->StartEpoch(position_, &started, &slots));
  interrupted_ = false;
  Status status = remote_->subscription().AttachSlots(slots, started.slot_bytes,
                                                      started.lease_quota);
  if (!status.ok()) {
    // This process cannot map the slots, so the epoch must end.
    static_cast<void>(StopEpochLocked());
    ended_ = status;
  }
  return status;
}

Status Loader::StopEpoch() {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  const std::lock_guard lock(reader_);
  if (!epoch_under_way_) return Status();
  return StopEpochLocked();
}

Status Loader::StopEpochLocked() {
  const bool produced = !interrupted_;
  EndEpochLocked(Status(FOREBAY_END_OF_EPOCH, "the epoch was stopped"));
  return produced ? remote_->StopEpoch() : Status();
}

void Loader::EndEpochLocked(Status why) {
  ended_ = std::move(why);
  epoch_under_way_ = false;
  interrupted_ = false;
  remote_->subscription().DetachSlots();
}

Status Loader::InterruptLocked(Status why) {
  interrupted_ = true;
  away_ = why;
  remote_->subscription().DetachSlots();
  return why;
}

Status Loader::Next(std::int64_t timeout_nanos, std::uint64_t iteration,
                    forebay_batch** out) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  const Deadline deadline(timeout_nanos);
  const std::lock_guard lock(reader_);
  while (true) {
    Status status = WaitLocked(deadline, iteration, out);
    if (!status.MayPass()) return status;
    FOREBAY_CLIENT_RETURN_IF_ERROR(RetryLocked(std::move(status), deadline));
  }
}

Status Loader::WaitLocked(const Deadline& deadline, std::uint64_t iteration,
                          forebay_batch** out) {
  // Close, or another start, may have come while this thread waited for the
  // lock.
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckUnderWay(iteration));
  if (!epoch_under_way_) return ended_;
  if (interrupted_) return away_;
  shm::Rings& rings = remote_->subscription().rings();
  while (true) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(remote_->subscription().CheckDevice());
    switch (rings.Wait(std::min(kSliceNanos, deadline.Remaining()))) {
      case shm::WaitResult::kReady:
        return TakeLocked(out);
      case shm::WaitResult::kInterrupted:
        return Status(FOREBAY_INTERRUPTED, "interrupted by a signal");
      case shm::WaitResult::kTimeout:
        break;
    }
    FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
    FOREBAY_CLIENT_RETURN_IF_ERROR(CheckUnderWay(iteration));
    if (remote_->IsLost() && !rings.HasEntry()) {
      return InterruptLocked(Status(
          FOREBAY_UNAVAILABLE, "the Forebay daemon went away in mid-epoch"));
    }
    if (deadline.Passed())
      return Status(FOREBAY_TIMEOUT, "the batch is not ready yet");
  }
}

Status Loader::TakeLocked(forebay_batch** out) {
  shm::Rings& rings = remote_->subscription().rings();
  const proto::ReadyEntry entry = rings.Take();
  Status status;
  switch (entry.kind) {
    case proto::ReadyKind::kBatch:
      status = LeaseLocked(entry, out);
      if (status.ok()) return status;
      if (status.MayPass()) return InterruptLocked(status);
      // The epoch cannot go on without the lost batch.
      static_cast<void>(StopEpochLocked());
      ended_ = status;
      return status;
    case proto::ReadyKind::kEndOfEpoch:
      status = Status(FOREBAY_END_OF_EPOCH, "the epoch has no more batches");
      break;
    case proto::ReadyKind::kError:
      status = rings.ReadError();
      // The daemon cannot reach the storage: the epoch goes on once it can.
      if (status.MayPass()) return InterruptLocked(status);
      break;
    default:
      remote_->subscription().session().Shutdown();
      status =
          Status(FOREBAY_INTERNAL, "the daemon published an unknown entry");
  }
  EndEpochLocked(status);
  return status;
}

Status Loader::LeaseLocked(const proto::ReadyEntry& entry,
                           forebay_batch** out) {
  Status status = remote_->FetchSlot(entry.slot);
  if (!status.ok()) {
    remote_->subscription().Discard(entry);
    return status;
  }
  FOREBAY_CLIENT_RETURN_IF_ERROR(remote_->subscription().Lease(entry, out));
  status = position_.Count(**out);
  if (status.ok())
    away_since_nanos_.reset();
  else
    Subscription::Release(*out);
  return status;
}

bool Loader::IsAttached() {
  // In a forked child, a thread that the child lacks may hold the lock.
  if (!CheckNotForked().ok()) return false;
  std::shared_ptr<RemoteLoader> remote;
  {
    const std::lock_guard lock(remote_mutex_);
    remote = remote_;
  }
  return !remote->IsLost();
}

Status Loader::Reattach(std::int64_t timeout_nanos) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckNotForked());
  const Deadline deadline(timeout_nanos);
  const std::lock_guard lock(reader_);
  return ReattachLocked(deadline);
}

Status Loader::ReattachLocked(const Deadline& deadline) {
  if (!away_since_nanos_.has_value()) {
    away_since_nanos_ = NowNanos();
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
    Status status = ResumeLocked(deadline);
    if (status.MayPass()) away_ = status;
    if (status.code != FOREBAY_TIMEOUT && status.code != FOREBAY_INTERRUPTED)
      next_try_nanos_ = NowNanos() + backoff_.Next();
    if (!status.MayPass() || deadline.Passed()) return status;
  }
}

Status Loader::ResumeLocked(const Deadline& deadline) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(OpenLocked(deadline));
  if (!epoch_under_way_ || !interrupted_) return Status();
  Status status = StartEpochLocked();
  // The epoch may have been interrupted by a lack of descriptors, for example.
  // This may pass, so the loader tries again as if the daemon were away.
  if (status.code == FOREBAY_RESOURCE_EXHAUSTED) status.code = away_.code;
  return status;
}

Status Loader::RetryLocked(Status status, const Deadline& deadline) {
  if (reattach_nanos_ == 0) return status;
  while (true) {
    // reattach_nanos_ counts from the time when batches stopped coming. The
    // wait thus ends even if the loader attaches each time, but its source
    // stays away.
    if (status.MayPass() && reattach_nanos_ > 0 &&
        away_since_nanos_.has_value() &&
        NowNanos() - *away_since_nanos_ >= reattach_nanos_) {
      away_since_nanos_.reset();
      return status;
    }
    const Deadline slice(std::min(kSliceNanos, deadline.Remaining()));
    status = ReattachLocked(slice);
    if (!status.MayPass() && status.code != FOREBAY_TIMEOUT) return status;
    if (deadline.Passed())
      return Status(FOREBAY_TIMEOUT, "the Forebay daemon is not back yet");
  }
}

Status Loader::GetCounters(message::LoaderCounters* out) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  return Remote()->GetCounters(out);
}

Status Loader::StartWorkers(std::uint32_t workers, bool are_persistent,
                            proto::Fd* socket) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  return Remote()->StartWorkers(workers, are_persistent, socket);
}

void Loader::Close() {
  if (closed_.exchange(true) || !CheckNotForked().ok()) return;
  // A thread in Next sees closed_ within a slice of its wait.
  const std::lock_guard lock(reader_);
  remote_->Close();
}

}  // namespace forebay::client::core
