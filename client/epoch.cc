// How a loader starts and ends epochs.

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/loader.h"
#include "client/packet_socket.h"

namespace forebay::client {
namespace {

// Of epochs, and of samples within one.
constexpr std::uint64_t kLastEpoch = INT64_MAX;

Status SealedNumbers(const std::int64_t* numbers, size_t count, Fd* out) {
  return SealedMemory(
      {reinterpret_cast<const char*>(numbers), count * sizeof *numbers}, out);
}

}  // namespace

Status Loader::StartEpoch(std::uint64_t epoch, std::uint64_t first_sample) {
  return Start(epoch, first_sample, Fd(), {});
}

Status Loader::StartListedEpoch(std::uint64_t epoch,
                                const std::int64_t* samples, size_t count,
                                std::uint64_t first_sample) {
  if (is_coordinated_)
    return Start(epoch, first_sample, Fd(), {samples, samples + count});
  Fd list;
  FOREBAY_CLIENT_RETURN_IF_ERROR(SealedNumbers(samples, count, &list));
  return Start(epoch, first_sample, std::move(list), {});
}

Status Loader::Start(std::uint64_t epoch, std::uint64_t first_sample, Fd list,
                     std::vector<std::int64_t> seen) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  if (epoch > kLastEpoch)
    return Status(
        FOREBAY_INVALID_ARGUMENT,
        "the epoch must be below 2^63, but is " + std::to_string(epoch));
  if (first_sample > kLastEpoch)
    return Status(FOREBAY_INVALID_ARGUMENT,
                  "the first sample must be below 2^63, but is " +
                      std::to_string(first_sample));
  ++iteration_;
  const std::lock_guard lock(reader_);
  if (epoch_under_way_) {
    Status status = StopEpochLocked();
    if (!status.ok() && !status.MayPass()) return status;
  }
  epoch_ = epoch;
  next_sample_ = first_sample;
  list_ = std::move(list);
  seen_ = std::move(seen);
  missed_nanos_.reset();
  epoch_under_way_ = true;
  Status status = StartEpochLocked();
  if (status.MayPass()) {
    status = InterruptLocked(std::move(status));
    do {
      status = RideLocked(std::move(status), Deadline(-1));
    } while (status.code == FOREBAY_INTERRUPTED);
  }
  if (!status.ok() && !status.MayPass()) EndEpochLocked(status);
  return status;
}

Status Loader::StartEpochLocked() {
  // The daemon that came has not opened the loader, or has refused to.
  if (!attachment_.loader_id.has_value())
    return Status(FOREBAY_UNAVAILABLE, "the Forebay daemon is not back yet");
  Session& session = attachment_.link->session();
  Fd seen;
  if (!seen_.empty()) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        SealedNumbers(seen_.data(), seen_.size(), &seen));
  }
  std::vector<int> lists;
  for (const Fd* list : {&list_, &seen}) {
    if (*list) lists.push_back(list->get());
  }
  const std::uint64_t id = session.NextRequestId();
  Reply reply;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      session.Call(id,
                   EncodeStartEpoch(id, *attachment_.loader_id, epoch_,
                                    next_sample_, !lists.empty()),
                   &reply, lists));
  const auto* started = std::get_if<EpochStarted>(&reply.answer.kind);
  if (started == nullptr || started->slot_count != reply.fds.size() ||
      started->slot_count > proto::kMaxSlots) {
    session.Shutdown();
    return Status(FOREBAY_INTERNAL,
                  "the daemon started an epoch with nonsense");
  }
  interrupted_ = false;
  Status status = attachment_.link->AttachSlots(reply.fds, started->slot_bytes,
                                                started->lease_quota);
  if (!status.ok()) {
    // The daemon produces what cannot be seen here.
    static_cast<void>(StopEpochLocked());
    ended_ = status;
  }
  return status;
}

Status Loader::InterruptLocked(Status why) {
  interrupted_ = true;
  away_ = why;
  attachment_.link->DetachSlots();
  return why;
}

void Loader::EndEpochLocked(Status why) {
  ended_ = std::move(why);
  epoch_under_way_ = false;
  interrupted_ = false;
  attachment_.link->DetachSlots();
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
  if (!produced) return Status();
  Session& session = attachment_.link->session();
  const std::uint64_t id = session.NextRequestId();
  Reply reply;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      session.Call(id, EncodeStopEpoch(id, *attachment_.loader_id), &reply));
  const auto* stopped = std::get_if<EpochStopped>(&reply.answer.kind);
  if (stopped == nullptr)
    return Status(FOREBAY_INTERNAL,
                  "the daemon stopped an epoch with nonsense");
  DrainLocked(stopped->published);
  return Status();
}

void Loader::DrainLocked(std::uint32_t published) {
  Rings& rings = attachment_.link->rings();
  while (rings.HasEntry() && rings.taken() != published) {
    const proto::ReadyEntry entry = rings.Take();
    if (entry.kind == proto::ReadyKind::kBatch)
      attachment_.link->Discard(entry);
  }
}

}  // namespace forebay::client
