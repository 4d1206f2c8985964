#include "client/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "client/dataset_place.h"
#include "client/deadline.h"
#include "client/packet_socket.h"

namespace forebay::client {
namespace {

// How long a wait lasts before the daemon's health is looked at.
constexpr std::int64_t kSliceNanos = 100'000'000;
constexpr std::uint64_t kMaxClassListBytes = 256 << 20;
// Left of a message for what surrounds a spec.
constexpr size_t kMaxInlineSpec = kMaxMessage - 256;

Status CheckOptions(const forebay_loader_options& options) {
  if (options.job_key == nullptr || options.uri == nullptr)
    return Status(FOREBAY_INVALID_ARGUMENT,
                  "a loader needs a job key and a dataset");
  if (options.extra_root_count > 0 && options.extra_roots == nullptr)
    return Status(FOREBAY_INVALID_ARGUMENT, "extra_roots is null");
  if (options.extra_root_count > 8)
    return Status(FOREBAY_INVALID_ARGUMENT,
                  "a dataset may have at most 8 extra roots");
  return Status();
}

Status OpenFolder(const char* path, const char* what, std::vector<Fd>* out) {
  Fd fd(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd)
    return ErrnoStatus(errno,
                       std::string("cannot open the ") + what + " " + path);
  out->push_back(std::move(fd));
  return Status();
}

// Whether the daemon reaches the dataset by its URI alone: "gs://bucket".
bool IsRemote(const forebay_loader_options& options) {
  if (options.root != nullptr) return false;
  const std::string_view uri = options.uri;
  const size_t scheme = uri.find("://");
  return scheme != uri.npos && uri.find('/') == scheme + 1 &&
         uri.substr(0, scheme) != "file";
}

Status OpenFolders(const forebay_loader_options& options,
                   const DatasetPlace& place, std::vector<Fd>* out) {
  if (IsRemote(options)) {
    if (options.extra_root_count == 0) return Status();
    return Status(FOREBAY_INVALID_ARGUMENT,
                  place.uri +
                      ": extra roots are for links in folders; here there are "
                      "none");
  }
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      OpenFolder(place.folder.c_str(), "dataset folder", out));
  for (size_t i = 0; i < options.extra_root_count; ++i) {
    const char* const path = options.extra_roots[i];
    if (path == nullptr || path[0] != '/')
      return Status(FOREBAY_INVALID_ARGUMENT,
                    "an extra root must be an absolute path");
    FOREBAY_CLIENT_RETURN_IF_ERROR(OpenFolder(path, "extra root", out));
  }
  return Status();
}

}  // namespace

Status Loader::Create(const forebay_loader_options& options,
                      const std::string& pipeline,
                      std::unique_ptr<Loader>* out) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOptions(options));
  std::vector<Fd> folders;
  DatasetPlace place;
  FOREBAY_CLIENT_RETURN_IF_ERROR(FindPlace(options, &place));
  FOREBAY_CLIENT_RETURN_IF_ERROR(OpenFolders(options, place, &folders));

  std::unique_ptr<Session> session;
  FOREBAY_CLIENT_RETURN_IF_ERROR(Session::Open(
      options.runtime_dir != nullptr ? options.runtime_dir : "",
      options.job_key, options.job_name != nullptr ? options.job_name : "",
      options.weight, &session));

  std::string spec = EncodeLoaderSpec(options, place, pipeline);
  if (spec.size() > kMaxInlineSpec) {
    Fd memory;
    FOREBAY_CLIENT_RETURN_IF_ERROR(SealedMemory(spec, &memory));
    folders.push_back(std::move(memory));
    spec.clear();
  }
  std::vector<int> fds;
  for (const Fd& folder : folders) fds.push_back(folder.get());
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
