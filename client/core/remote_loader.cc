#include "client/core/remote_loader.h"

#include <utility>
#include <variant>

#include "client/core/image_tail.h"
#include "proto/shm_layout.h"

namespace forebay::client::core {
namespace {

// The nanoseconds that the daemon may take to stop an epoch or close a loader.
// After that, the client hangs up, which also ends the loader: a user who
// interrupts a trainer should not wait for a daemon that hangs.
constexpr std::int64_t kEndNanos = 2'000'000'000;

}  // namespace

Status RemoteLoader::Request(const OpenRequest& open_request,
                             std::shared_ptr<RemoteLoader>* out) {
  std::unique_ptr<wire::Session> session;
  std::uint64_t request;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      open_request.SendOpenLoader(&session, &request));
  *out = std::make_shared<RemoteLoader>(std::move(session), request,
                                        open_request.gpu());
  return Status();
}

Status RemoteLoader::Open(std::int64_t timeout_nanos,
                          message::LoaderOpened* opened,
                          proto::Fd* class_list) {
  wire::Reply reply;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      subscription_->session().Await(request_, timeout_nanos, &reply));
  // The descriptors are the ready ring, the release ring, the eventfd, and the
  // list of classes if the answer says so.
  auto* const answer = std::get_if<message::LoaderOpened>(&reply.answer.kind);
  if (answer == nullptr ||
      reply.fds.size() != (answer->classes_in_memfd ? 4 : 3))
    return wire::MalformedAnswer("open a loader");
  FOREBAY_CLIENT_RETURN_IF_ERROR(subscription_->rings().Map(
      std::move(reply.fds[0]), std::move(reply.fds[1]),
      std::move(reply.fds[2])));
  FOREBAY_CLIENT_RETURN_IF_ERROR(Place(*answer));
  if (answer->classes_in_memfd) *class_list = std::move(reply.fds[3]);
  *opened = std::move(*answer);
  // GetCounters, on another thread, reads id_ once is_open_ is true.
  id_ = opened->loader_id;
  is_open_.store(true);
  return Status();
}

Status RemoteLoader::Place(const message::LoaderOpened& opened) {
  if (gpu_ == nullptr) return Status();
  if (!opened.placement)
    return Status(FOREBAY_FAILED_PRECONDITION,
                  "the daemon is too old for batches on a GPU: upgrade it");
  const message::LoaderPlacement& placement = *opened.placement;
  if (placement.gpu_uuid.empty()) return Status();
  if (placement.gpu_uuid != gpu_->uuid())
    return wire::MalformedAnswer("open a loader");
  ImageTail tail;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      ImageTail::Create(placement.tail.value_or(message::Tail()), &tail));
  subscription_->LieOn(gpu_, tail, placement.device_bytes);
  return Status();
}

Status RemoteLoader::CheckOpen() const {
  if (is_open()) return Status();
  return Status(FOREBAY_UNAVAILABLE, "the Forebay daemon is not back yet");
}

Status RemoteLoader::StartEpoch(const EpochPosition& position,
                                message::EpochStarted* started,
                                std::vector<proto::Fd>* slots) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  proto::Fd seen;
  FOREBAY_CLIENT_RETURN_IF_ERROR(position.SealSeenSamples(&seen));
  std::vector<int> lists;
  if (position.list()) lists.push_back(position.list().get());
  if (seen) lists.push_back(seen.get());
  wire::Session& session = subscription_->session();
  wire::Reply reply;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      session.Call(message::StartEpoch{.loader_id = id_,
                                       .epoch = position.epoch(),
                                       .first_sample = position.next_sample(),
                                       .listed = !lists.empty()},
                   &reply, lists));
  const auto* answer = std::get_if<message::EpochStarted>(&reply.answer.kind);
  if (answer == nullptr || answer->slot_count > proto::kMaxSlots ||
      std::uint64_t{answer->slot_count} * subscription_->parts() !=
          reply.fds.size()) {
    session.Shutdown();
    return wire::MalformedAnswer("start an epoch");
  }
  *started = *answer;
  *slots = std::move(reply.fds);
  return Status();
}

Status RemoteLoader::StopEpoch() {
  wire::Session& session = subscription_->session();
  wire::Reply reply;
  FOREBAY_CLIENT_RETURN_IF_ERROR(session.Call(
      message::StopEpoch{.loader_id = id_}, &reply, {}, kEndNanos));
  const auto* stopped = std::get_if<message::EpochStopped>(&reply.answer.kind);
  if (stopped == nullptr) return wire::MalformedAnswer("stop an epoch");
  Drain(stopped->published);
  return Status();
}

// An answer has as many slots as one message can carry descriptors, so several
// requests may be needed.
Status RemoteLoader::FetchSlot(std::uint32_t slot) {
  wire::Session& session = subscription_->session();
  while (subscription_->slots() <= slot && slot < proto::kMaxSlots) {
    wire::Reply reply;
    FOREBAY_CLIENT_RETURN_IF_ERROR(session.Call(
        message::GetSlots{.loader_id = id_, .first = subscription_->slots()},
        &reply));
    if (!std::holds_alternative<message::Slots>(reply.answer.kind) ||
        reply.fds.empty() || reply.fds.size() % subscription_->parts() != 0)
      return Status(FOREBAY_INTERNAL,
                    "the daemon published a slot that it does not have");
    FOREBAY_CLIENT_RETURN_IF_ERROR(subscription_->AddSlots(reply.fds));
  }
  return Status();
}

Status RemoteLoader::GetCounters(message::LoaderCounters* out) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  wire::Session& session = subscription_->session();
  wire::Reply reply;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      session.Call(message::GetStats{.loader_id = id_}, &reply));
  const auto* counters =
      std::get_if<message::LoaderCounters>(&reply.answer.kind);
  if (counters == nullptr) return wire::MalformedAnswer("get stats");
  const shm::Rings& rings = subscription_->rings();
  *out = *counters;
  out->trainer_wait_nanos = rings.wait_nanos();
  out->batches_copied = rings.batches_copied();
  out->batches_held = subscription_->leases();
  return Status();
}

Status RemoteLoader::StartWorkers(std::uint32_t workers, bool are_persistent,
                                  proto::Fd* socket) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  wire::Session& session = subscription_->session();
  wire::Reply reply;
  FOREBAY_CLIENT_RETURN_IF_ERROR(session.Call(
      message::StartWorkers{
          .loader_id = id_, .workers = workers, .persistent = are_persistent},
      &reply));
  if (!std::holds_alternative<message::WorkersStarted>(reply.answer.kind) ||
      reply.fds.size() != 1)
    return wire::MalformedAnswer("start workers");
  *socket = std::move(reply.fds[0]);
  return Status();
}

void RemoteLoader::Close() {
  if (is_open() && !IsLost()) {
    wire::Session& session = subscription_->session();
    wire::Reply reply;
    const Status status = session.Call(message::CloseLoader{.loader_id = id_},
                                       &reply, {}, kEndNanos);
    const auto* closed = std::get_if<message::LoaderClosed>(&reply.answer.kind);
    if (status.ok() && closed != nullptr) Drain(closed->published);
  }
  subscription_->EndWithLastLease();
}

void RemoteLoader::Drain(std::uint64_t published) {
  shm::Rings& rings = subscription_->rings();
  while (rings.HasEntry() && rings.taken_count() != published) {
    const proto::ReadyEntry entry = rings.Take();
    if (entry.kind == proto::ReadyKind::kBatch) subscription_->Discard(entry);
  }
}

}  // namespace forebay::client::core
