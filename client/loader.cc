#include "client/loader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "client/deadline.h"
#include "client/packet_socket.h"

namespace forebay::client {
namespace {

// How long a wait lasts before the daemon's health is looked at.
constexpr std::int64_t kSliceNanos = 100'000'000;
constexpr std::uint64_t kMaxClassListBytes = 256 << 20;
// Left of a message for what surrounds a spec.
constexpr size_t kMaxInlineSpec = kMaxMessage - 256;

}  // namespace

Status Loader::Create(const forebay_loader_options& options,
                      const Dataset* dataset, const std::string& pipeline,
                      std::unique_ptr<Loader>* out) {
  if (options.job_key == nullptr)
    return Status(FOREBAY_INVALID_ARGUMENT, "a loader needs a job key");
  Dataset place;
  if (dataset == nullptr) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(Dataset::FromPlace(options, &place));
    dataset = &place;
  }
  std::unique_ptr<Session> session;
  FOREBAY_CLIENT_RETURN_IF_ERROR(Session::Open(
      options.runtime_dir != nullptr ? options.runtime_dir : "",
      options.job_key, options.job_name != nullptr ? options.job_name : "",
      options.weight, &session));

  std::string spec = EncodeLoaderSpec(options, dataset->spec(), pipeline);
  std::vector<int> fds = dataset->fds();
  Fd memory;
  if (spec.size() > kMaxInlineSpec) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(SealedMemory(spec, &memory));
    fds.push_back(memory.get());
    spec.clear();
  }
  const std::uint64_t id = session->NextRequestId();
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      session->Send(id, EncodeOpenLoader(id, spec), fds));
  out->reset(new Loader(Link::Create(std::move(session)), id));
  return Status();
}

Status Loader::CheckOpen() const {
  FOREBAY_CLIENT_RETURN_IF_ERROR(link_->CheckAlive());
  if (closed_.load())
    return Status(FOREBAY_FAILED_PRECONDITION, "the loader is closed");
  if (!open_.load())
    return Status(FOREBAY_FAILED_PRECONDITION, "the loader is not open yet");
  return Status();
}

Status Loader::Open(std::int64_t timeout_nanos) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(link_->CheckAlive());
  if (open_.load()) return Status();
  if (closed_.load())
    return Status(FOREBAY_FAILED_PRECONDITION, "the loader is closed");
  Reply reply;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      link_->session().Await(open_request_, timeout_nanos, &reply));
  return TakeOpened(std::move(reply));
}

Status Loader::TakeOpened(Reply reply) {
  auto* opened = std::get_if<LoaderOpened>(&reply.answer.kind);
  if (opened == nullptr ||
      reply.fds.size() != (opened->classes_in_memfd ? 4 : 3))
    return Status(FOREBAY_INTERNAL, "the daemon opened a loader with nonsense");
  if (opened->classes_in_memfd) {
    std::string bytes;
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        ReadMemory(reply.fds[3].get(), kMaxClassListBytes, &bytes));
    FOREBAY_CLIENT_RETURN_IF_ERROR(DecodeClassList(bytes, &opened->classes));
  }
  FOREBAY_CLIENT_RETURN_IF_ERROR(link_->rings().Map(std::move(reply.fds[0]),
                                                    std::move(reply.fds[1]),
                                                    std::move(reply.fds[2])));
  opened_ = std::move(*opened);
  open_.store(true);
  return Status();
}

Status Loader::StartEpoch(std::uint64_t epoch, std::uint64_t first_sample) {
  return Start(epoch, first_sample, -1);
}

Status Loader::StartListedEpoch(std::uint64_t epoch,
                                const std::int64_t* samples, size_t count,
                                std::uint64_t first_sample) {
  Fd list;
  FOREBAY_CLIENT_RETURN_IF_ERROR(SealedMemory(
      {reinterpret_cast<const char*>(samples), count * sizeof *samples},
      &list));
  return Start(epoch, first_sample, list.get());
}

Status Loader::Start(std::uint64_t epoch, std::uint64_t first_sample,
                     int list) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  const std::lock_guard lock(reader_);
  if (epoch_under_way_) FOREBAY_CLIENT_RETURN_IF_ERROR(StopEpochLocked());
  Session& session = link_->session();
  const std::uint64_t id = session.NextRequestId();
  Reply reply;
  FOREBAY_CLIENT_RETURN_IF_ERROR(session.Call(
      id,
      EncodeStartEpoch(id, opened_.loader_id, epoch, first_sample, list >= 0),
      &reply, list >= 0 ? std::vector<int>{list} : std::vector<int>()));
  const auto* started = std::get_if<EpochStarted>(&reply.answer.kind);
  if (started == nullptr || started->slot_count != reply.fds.size() ||
      started->slot_count > proto::kMaxSlots)
    return Status(FOREBAY_INTERNAL,
                  "the daemon started an epoch with nonsense");
  epoch_under_way_ = true;
  return link_->AttachSlots(reply.fds, started->slot_bytes,
                            started->lease_quota);
}

Status Loader::Next(std::int64_t timeout_nanos, forebay_batch** out) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  const Deadline deadline(timeout_nanos);
  const std::lock_guard lock(reader_);
  // Who waited for the lock may have waited for Close.
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  if (!epoch_under_way_)
    return Status(FOREBAY_END_OF_EPOCH, "no epoch is under way");
  while (true) {
    switch (link_->rings().Wait(std::min(kSliceNanos, deadline.Remaining()))) {
      case WaitResult::kReady:
        return TakeLocked(out);
      case WaitResult::kInterrupted:
        return Status(FOREBAY_INTERRUPTED, "interrupted by a signal");
      case WaitResult::kTimeout:
        break;
    }
    FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
    if (link_->session().IsLost() && !link_->rings().HasEntry()) {
      EndEpochLocked();
      return Status(FOREBAY_UNAVAILABLE,
                    "the Forebay daemon went away in mid-epoch");
    }
    if (deadline.Passed())
      return Status(FOREBAY_TIMEOUT, "the batch is not ready yet");
  }
}

Status Loader::TakeLocked(forebay_batch** out) {
  const proto::ReadyEntry entry = link_->rings().Take();
  Status status;
  switch (entry.kind) {
    case proto::ReadyKind::kBatch:
      status = link_->Lease(entry, out);
      if (status.ok()) return status;
      // The order has lost a batch: the epoch cannot go on.
      static_cast<void>(StopEpochLocked());
      return status;
    case proto::ReadyKind::kEndOfEpoch:
      status = Status(FOREBAY_END_OF_EPOCH, "the epoch has no more batches");
      break;
    case proto::ReadyKind::kError:
      status = link_->rings().ReadError();
      break;
    default:
      link_->session().Shutdown();
      status = Status(FOREBAY_INTERNAL, "the daemon published nonsense");
  }
  EndEpochLocked();
  return status;
}

void Loader::EndEpochLocked() {
  epoch_under_way_ = false;
  link_->DetachSlots();
}

Status Loader::StopEpoch() {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  const std::lock_guard lock(reader_);
  if (!epoch_under_way_) return Status();
  return StopEpochLocked();
}

Status Loader::StopEpochLocked() {
  EndEpochLocked();
  Session& session = link_->session();
  const std::uint64_t id = session.NextRequestId();
  Reply reply;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      session.Call(id, EncodeStopEpoch(id, opened_.loader_id), &reply));
  const auto* stopped = std::get_if<EpochStopped>(&reply.answer.kind);
  if (stopped == nullptr)
    return Status(FOREBAY_INTERNAL,
                  "the daemon stopped an epoch with nonsense");
  DrainLocked(stopped->published);
  return Status();
}

void Loader::DrainLocked(std::uint32_t published) {
  Rings& rings = link_->rings();
  while (rings.HasEntry() && rings.taken() != published) {
    const proto::ReadyEntry entry = rings.Take();
    if (entry.kind == proto::ReadyKind::kBatch) link_->Discard(entry);
  }
}

Status Loader::GetStats(forebay_loader_stats* out) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  Session& session = link_->session();
  const std::uint64_t id = session.NextRequestId();
  Reply reply;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      session.Call(id, EncodeGetStats(id, opened_.loader_id), &reply));
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
          .wait_nanos = link_->rings().wait_nanos(),
          .batches_copied = link_->rings().batches_copied(),
          .batches_held = link_->leases()};
  return Status();
}

void Loader::Close() {
  if (closed_.exchange(true) || !link_->CheckAlive().ok()) return;
  // A reader under way sees closed_ within a slice of its wait.
  const std::lock_guard lock(reader_);
  if (open_.load() && !link_->session().IsLost()) {
    epoch_under_way_ = false;
    Session& session = link_->session();
    const std::uint64_t id = session.NextRequestId();
    Reply reply;
    const Status status =
        session.Call(id, EncodeCloseLoader(id, opened_.loader_id), &reply);
    const auto* done = std::get_if<LoaderClosed>(&reply.answer.kind);
    if (status.ok() && done != nullptr) DrainLocked(done->published);
  }
  link_->EndWithLastLease();
}

}  // namespace forebay::client
