#include "client/loader.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "client/batch.h"
#include "client/fork_handlers.h"
#include "client/packet_socket.h"
#include "client/patience.h"

namespace forebay::client {
namespace {

constexpr std::uint64_t kMaxClassListBytes = 256 << 20;

std::uint64_t RandomSeed() {
  std::uint64_t seed;
  if (getentropy(&seed, sizeof seed) != 0)
    seed = static_cast<std::uint64_t>(NowNanos());
  return seed;
}

}  // namespace

Loader::Loader(std::unique_ptr<Opening> opening, Attachment attachment,
               const forebay_loader_options& options)
    : opening_(std::move(opening)),
      patience_nanos_(PatienceNanos(options.reattach_seconds)),
      is_coordinated_(options.order == FOREBAY_COORDINATED),
      forks_(ForkHandlers::Forks()),
      backoff_(RandomSeed()),
      attachment_(std::move(attachment)) {}

Status Loader::Create(const forebay_loader_options& options,
                      const Dataset* dataset, const std::string& pipeline,
                      std::unique_ptr<Loader>* out) {
  if (std::isnan(options.reattach_seconds))
    return Status(FOREBAY_INVALID_ARGUMENT,
                  std::string("reattach_seconds, by default $") +
                      kPatienceVariable + ", must be a number of seconds");
  std::unique_ptr<Opening> opening;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      Opening::Create(options, dataset, pipeline, &opening));
  Attachment first;
  FOREBAY_CLIENT_RETURN_IF_ERROR(opening->Ask(&first.link, &first.request));
  out->reset(new Loader(std::move(opening), std::move(first), options));
  return Status();
}

Status Loader::CheckAlive() const {
  return forks_ == ForkHandlers::Forks() ? Status() : Link::Forked();
}

Status Loader::CheckNotClosed() const {
  if (!closed_.load()) return Status();
  return Status(FOREBAY_FAILED_PRECONDITION, "the loader is closed");
}

Status Loader::CheckOpen() const {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckAlive());
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckNotClosed());
  if (!open_.load())
    return Status(FOREBAY_FAILED_PRECONDITION, "the loader is not open yet");
  return Status();
}

Status Loader::CheckUnderWay(std::uint64_t iteration) const {
  if (iteration == 0 || iteration == iteration_.load()) return Status();
  return Status(FOREBAY_FAILED_PRECONDITION,
                "another iteration of this loader has begun: this one is over");
}

Status Loader::Open(std::int64_t timeout_nanos) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckAlive());
  const Deadline deadline(timeout_nanos);
  while (true) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(CheckNotClosed());
    if (open_.load()) return Status();
    // In slices, so that Close gets its turn.
    const Deadline slice(std::min(kSliceNanos, deadline.Remaining()));
    const std::lock_guard lock(reader_);
    Status status = TryLocked(slice);
    // Who cannot reach the dataset now is asked again for a loader alone that
    // had been open.
    if (status.MayPass() && !IsAttached())
      status = RideLocked(std::move(status), slice);
    if (status.code != FOREBAY_TIMEOUT || deadline.Passed()) return status;
  }
}

Status Loader::TakeOpened(Reply reply) {
  auto* opened = std::get_if<LoaderOpened>(&reply.answer.kind);
  if (opened == nullptr ||
      reply.fds.size() != (opened->classes_in_memfd ? 4 : 3))
    return Status(FOREBAY_INTERNAL, "the daemon opened a loader with nonsense");
  if (open_.load() && opened->dataset_version != opened_.dataset_version) {
    attachment_.link->session().Shutdown();
    return Status(
        FOREBAY_FAILED_PRECONDITION,
        opening_->uri() +
            " has changed since this loader was opened: open another");
  }
  if (opened->classes_in_memfd && !open_.load()) {
    std::string bytes;
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        ReadMemory(reply.fds[3].get(), kMaxClassListBytes, &bytes));
    FOREBAY_CLIENT_RETURN_IF_ERROR(DecodeClassList(bytes, &opened->classes));
  }
  FOREBAY_CLIENT_RETURN_IF_ERROR(attachment_.link->rings().Map(
      std::move(reply.fds[0]), std::move(reply.fds[1]),
      std::move(reply.fds[2])));
  {
    const std::lock_guard lock(attachment_mutex_);
    attachment_.loader_id = opened->loader_id;
  }
  if (open_.load()) return Status();
  opened_ = std::move(*opened);
  open_.store(true);
  return Status();
}

Status Loader::Next(std::int64_t timeout_nanos, std::uint64_t iteration,
                    forebay_batch** out) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  const Deadline deadline(timeout_nanos);
  const std::lock_guard lock(reader_);
  while (true) {
    Status status = WaitLocked(deadline, iteration, out);
    if (!status.MayPass()) return status;
    FOREBAY_CLIENT_RETURN_IF_ERROR(RideLocked(std::move(status), deadline));
  }
}

Status Loader::WaitLocked(const Deadline& deadline, std::uint64_t iteration,
                          forebay_batch** out) {
  // Who waited for the lock may have waited for Close, or for another start.
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckUnderWay(iteration));
  if (!epoch_under_way_) return ended_;
  if (interrupted_) return away_;
  Rings& rings = attachment_.link->rings();
  while (true) {
    switch (rings.Wait(std::min(kSliceNanos, deadline.Remaining()))) {
      case WaitResult::kReady:
        return TakeLocked(out);
      case WaitResult::kInterrupted:
        return Status(FOREBAY_INTERRUPTED, "interrupted by a signal");
      case WaitResult::kTimeout:
        break;
    }
    FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
    FOREBAY_CLIENT_RETURN_IF_ERROR(CheckUnderWay(iteration));
    if (attachment_.link->session().IsLost() && !rings.HasEntry()) {
      return InterruptLocked(Status(
          FOREBAY_UNAVAILABLE, "the Forebay daemon went away in mid-epoch"));
    }
    if (deadline.Passed())
      return Status(FOREBAY_TIMEOUT, "the batch is not ready yet");
  }
}

Status Loader::TakeLocked(forebay_batch** out) {
  Rings& rings = attachment_.link->rings();
  const proto::ReadyEntry entry = rings.Take();
  Status status;
  switch (entry.kind) {
    case proto::ReadyKind::kBatch:
      status = FetchSlotsLocked(entry.slot);
      if (status.ok())
        status = attachment_.link->Lease(entry, out);
      else
        attachment_.link->Discard(entry);
      if (status.ok()) {
        status = NoteLocked(**out);
        if (status.ok()) return status;
        Link::Release(*out);
      }
      if (status.MayPass()) return InterruptLocked(status);
      // The order has lost a batch: the epoch cannot go on.
      static_cast<void>(StopEpochLocked());
      ended_ = status;
      return status;
    case proto::ReadyKind::kEndOfEpoch:
      status = Status(FOREBAY_END_OF_EPOCH, "the epoch has no more batches");
      break;
    case proto::ReadyKind::kError:
      status = rings.ReadError();
      // Storage cannot be reached: the epoch goes on when it can.
      if (status.MayPass()) return InterruptLocked(status);
      break;
    default:
      attachment_.link->session().Shutdown();
      status = Status(FOREBAY_INTERNAL, "the daemon published nonsense");
  }
  EndEpochLocked(status);
  return status;
}

Status Loader::NoteLocked(forebay_batch& batch) {
  const std::uint64_t count = batch.header.sample_count;
  if (is_coordinated_) {
    const std::int64_t* ids = nullptr;
    FOREBAY_CLIENT_RETURN_IF_ERROR(SampleIds(batch, &ids));
    seen_.insert(seen_.end(), ids, ids + count);
  }
  next_sample_ += count;
  batch.next_sample = next_sample_;
  missed_nanos_.reset();
  return Status();
}

Status Loader::FetchSlotsLocked(std::uint32_t slot) {
  Link& link = *attachment_.link;
  while (link.slots() <= slot && slot < proto::kMaxSlots) {
    const std::uint64_t id = link.session().NextRequestId();
    Reply reply;
    FOREBAY_CLIENT_RETURN_IF_ERROR(link.session().Call(
        id, EncodeGetSlots(id, *attachment_.loader_id, link.slots()), &reply));
    if (!std::holds_alternative<Slots>(reply.answer.kind) || reply.fds.empty())
      return Status(FOREBAY_INTERNAL,
                    "the daemon published a slot that it does not have");
    FOREBAY_CLIENT_RETURN_IF_ERROR(link.AddSlots(reply.fds));
  }
  return Status();
}

Status Loader::GetStats(forebay_loader_stats* out) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  Attachment now;
  {
    const std::lock_guard lock(attachment_mutex_);
    now = attachment_;
  }
  if (!now.loader_id.has_value())
    return Status(FOREBAY_UNAVAILABLE, "the Forebay daemon is not back yet");
  Session& session = now.link->session();
  const std::uint64_t id = session.NextRequestId();
  Reply reply;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      session.Call(id, EncodeGetStats(id, *now.loader_id), &reply));
  const auto* stats = std::get_if<Stats>(&reply.answer.kind);
  if (stats == nullptr)
    return Status(FOREBAY_INTERNAL, "the daemon counted nonsense");
  *out = {.samples_delivered = stats->samples_delivered,
          .batches_delivered = stats->batches_delivered,
          .bytes_delivered = stats->bytes_delivered,
          .bytes_read = stats->bytes_read,
          .samples_decoded = stats->samples_decoded,
          .samples_substituted = stats->samples_substituted,
          .cpu_nanos = stats->cpu_nanos,
          .wait_nanos = now.link->rings().wait_nanos(),
          .batches_copied = now.link->rings().batches_copied(),
          .batches_held = now.link->leases()};
  return Status();
}

void Loader::Close() {
  if (closed_.exchange(true) || !CheckAlive().ok()) return;
  // A reader under way sees closed_ within a slice of its wait.
  const std::lock_guard lock(reader_);
  Session& session = attachment_.link->session();
  if (attachment_.loader_id.has_value() && !session.IsLost()) {
    epoch_under_way_ = false;
    const std::uint64_t id = session.NextRequestId();
    Reply reply;
    const Status status =
        session.Call(id, EncodeCloseLoader(id, *attachment_.loader_id), &reply);
    const auto* done = std::get_if<LoaderClosed>(&reply.answer.kind);
    if (status.ok() && done != nullptr) DrainLocked(done->published);
  }
  attachment_.link->EndWithLastLease();
}

}  // namespace forebay::client
