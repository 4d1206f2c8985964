#include "server/session/session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/shm_layout.h"
#include "proto/version.h"
#include "proto/worker_socket.h"
#include "server/base/check.h"
#include "server/base/duplicate.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/session/dataset_description.h"
#include "server/session/fetched_message.h"
#include "server/session/order_part.h"
#include "server/session/placement_message.h"
#include "server/session/request_key.h"
#include "server/session/spec_inputs.h"
#include "server/session/spec_memfd.h"

namespace forebay::session {
namespace {

constexpr std::size_t kMaxLoaders = 256;
constexpr std::size_t kMaxReaders = 64;
constexpr char kSpec[] = "a loader's spec";

}  // namespace

RequestKey Session::Announce(const Request& request, std::int64_t now_nanos) {
  const proto::ClientMessage& message = request.message;
  RequestSubject subject;
  subject.job = JobName();
  subject.place = places_.Find(message, request.fds);
  if (const std::uint64_t id = LoaderOf(message); id != 0) {
    auto loader = Find(id);
    if (loader.ok()) subject.loader = *std::move(loader);
  }
  auto pending = PendingOf(message, subject, now_nanos);
  {
    base::MutexLock lock(&mutex_);
    if (pending.has_value() && attachment_ != nullptr)
      pending_ = attachment_->Note(*std::move(pending));
  }
  return KeyOf(message, subject);
}

std::string Session::JobName() const {
  base::MutexLock lock(&mutex_);
  return attachment_ == nullptr ? absl::StrCat("session ", id_)
                                : absl::StrCat("job ", attachment_->job());
}

void Session::DescribePending(const std::optional<AwaitedPlace>& place) {
  base::MutexLock lock(&mutex_);
  if (pending_ != nullptr && place.has_value())
    pending_->Describe(place->uri, place->host);
}

Reply Session::Handle(Request request) {
  Reply reply = AnswerTo(std::move(request));
  base::MutexLock lock(&mutex_);
  pending_ = nullptr;
  return reply;
}

Reply Session::AnswerTo(Request request) {
  {
    base::MutexLock lock(&mutex_);
    if (hung_up_) return Refuse(ClientHungUp());
  }
  const bool greeted = pidfd() >= 0;
  if (greeted == request.message.has_hello()) {
    return Refuse(
        absl::FailedPreconditionError("a session begins with one greeting"));
  }
  Reply reply;
  proto::DaemonMessage answer;
  const absl::Status status =
      Answer(request.message, std::move(request.fds), answer, reply.fds);
  if (!status.ok()) {
    SetError(status, kMaxError, answer.mutable_error());
    reply.fds.clear();
    reply.hang_up = request.message.has_hello();
  }
  answer.set_request_id(request.message.request_id());
  reply.bytes = answer.SerializeAsString();
  FOREBAY_CHECK(reply.bytes.size() <= kMaxMessage);
  return reply;
}

absl::Status Session::Answer(const proto::ClientMessage& request, Fds fds,
                             proto::DaemonMessage& answer, Fds& answer_fds) {
  switch (request.kind_case()) {
    case proto::ClientMessage::kHello:
      return Greet(request.hello(), std::move(fds), *answer.mutable_welcome());
    case proto::ClientMessage::kOpenLoader:
      return OpenLoader(request.open_loader(), std::move(fds),
                        *answer.mutable_loader_opened(), answer_fds);
    case proto::ClientMessage::kStartEpoch:
      return StartEpoch(request.start_epoch(), fds,
                        *answer.mutable_epoch_started(), answer_fds);
    case proto::ClientMessage::kStopEpoch: {
      FOREBAY_ASSIGN_OR_RETURN(const auto loader,
                               Find(request.stop_epoch().loader_id()));
      answer.mutable_epoch_stopped()->set_published(loader->StopEpoch());
      return absl::OkStatus();
    }
    case proto::ClientMessage::kCloseLoader:
      return CloseLoader(request.close_loader().loader_id(),
                         *answer.mutable_loader_closed());
    case proto::ClientMessage::kGetStats:
      return GetStats(request.get_stats().loader_id(), answer.mutable_stats());
    case proto::ClientMessage::kGetSlots:
      answer.mutable_slots();
      return GetSlots(request.get_slots(), answer_fds);
    case proto::ClientMessage::kOpenReader:
      return OpenReader(request.open_reader(), std::move(fds),
                        *answer.mutable_reader_opened(), answer_fds);
    case proto::ClientMessage::kFetch:
      return Fetch(request.fetch(), *answer.mutable_fetched(), answer_fds);
    case proto::ClientMessage::kStartWorkers:
      answer.mutable_workers_started();
      return StartWorkers(request.start_workers(), answer_fds);
    case proto::ClientMessage::kReadObject:
      return ReadObject(request.read_object(), std::move(fds),
                        *answer.mutable_object_read(), answer_fds);
    case proto::ClientMessage::kDrawOrder:
      return DrawPart(request.draw_order(), *answer.mutable_order_drawn());
    case proto::ClientMessage::KIND_NOT_SET:
      break;
  }
  return absl::UnimplementedError("a request that this daemon does not know");
}

absl::Status Session::Greet(const proto::Hello& hello, Fds fds,
                            proto::Welcome& welcome) {
  const std::uint32_t version = hello.protocol_version();
  if (version > proto::kProtocolVersion ||
      version + 1 < proto::kProtocolVersion || version == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the client speaks protocol version ", version,
                     ", the daemon ", proto::kProtocolVersion,
                     " and the one before: upgrade the older of the two"));
  }
  FOREBAY_RETURN_IF_ERROR(CheckGreeting(fds, peer_.pid));
  FOREBAY_ASSIGN_OR_RETURN(
      auto attachment, registry_->Attach(hello.job(), peer_.uid, peer_.pid));
  welcome.set_protocol_version(version);
  welcome.set_daemon_version(proto::kVersion);
  welcome.set_session_id(id_);
  base::MutexLock lock(&mutex_);
  attachment_ = std::move(attachment);
  pidfd_ = std::move(fds[0]);
  if (fds.size() == 2) lifeline_ = std::move(fds[1]);
  return absl::OkStatus();
}

absl::Status Session::OpenLoader(const proto::OpenLoader& request, Fds fds,
                                 proto::LoaderOpened& opened, Fds& opened_fds) {
  base::WorkingMemory memory(registry_->budget(), kSpec);
  FOREBAY_ASSIGN_OR_RETURN(proto::LoaderSpec spec,
                           SpecOf(request, fds, memory));
  DescribePending(PlaceOf(spec.dataset(), fds));
  FOREBAY_ASSIGN_OR_RETURN(job::Attachment* const attachment, Admit());
  const auto inputs = TakeDatasetInputs(spec.dataset(), absl::MakeSpan(fds),
                                        remote_, interruption_.get_token());
  const bool wants_gpu = spec.has_placement();
  auto opening = inputs.ok() ? attachment->OpenLoader(std::move(spec), *inputs,
                                                      interruption_.get_token())
                             : inputs.status();
  if (!opening.ok()) return Explain(opening.status());
  const std::shared_ptr<job::Loader> loader = *std::move(opening);
  for (const int fd :
       {loader->channel().ready_fd(), loader->channel().release_fd(),
        loader->channel().event_fd()}) {
    FOREBAY_ASSIGN_OR_RETURN(base::Fd duplicate, base::Duplicate(fd));
    opened_fds.push_back(std::move(duplicate));
  }
  FOREBAY_RETURN_IF_ERROR(
      Describe(loader->dataset(), registry_->budget(), opened, opened_fds));
  opened.set_samples_per_epoch(loader->samples_per_epoch());
  opened.set_batches_per_epoch(loader->batches_per_epoch());
  opened.set_slot_bytes(loader->slot_size().host);
  if (wants_gpu) DescribePlacement(*loader, *opened.mutable_placement());
  base::MutexLock lock(&mutex_);
  if (hung_up_) return ClientHungUp();
  opened.set_loader_id(++last_loader_);
  open_[last_loader_] = loader;
  return absl::OkStatus();
}

absl::StatusOr<job::Attachment*> Session::Admit() const {
  base::MutexLock lock(&mutex_);
  if (open_.size() + closed_.size() >= kMaxLoaders) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "this process has ", kMaxLoaders, " loaders open: close some"));
  }
  if (readers_.size() >= kMaxReaders) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "this session has ", kMaxReaders, " readers: open another"));
  }
  return attachment_.get();
}

absl::Status Session::OpenReader(const proto::OpenReader& request, Fds fds,
                                 proto::ReaderOpened& opened, Fds& opened_fds) {
  base::WorkingMemory memory(registry_->budget(), kSpec);
  FOREBAY_ASSIGN_OR_RETURN(const proto::LoaderSpec spec,
                           SpecOf(request, fds, memory));
  auto place = PlaceOf(spec.dataset(), fds);
  DescribePending(place);
  FOREBAY_ASSIGN_OR_RETURN(job::Attachment* const attachment, Admit());
  const std::stop_token stop = interruption_.get_token();
  const auto inputs =
      TakeDatasetInputs(spec.dataset(), absl::MakeSpan(fds), remote_, stop);
  std::vector<std::string> warnings;
  auto opening = inputs.ok()
                     ? attachment->OpenReader(spec, *inputs, request.decode(),
                                              &warnings, stop)
                     : inputs.status();
  if (!opening.ok()) return Explain(opening.status());
  const dataset::Dataset& dataset = (*opening)->dataset();
  FOREBAY_RETURN_IF_ERROR(
      Describe(dataset, registry_->budget(), opened, opened_fds));
  for (const dataset::Field& field : dataset.fields())
    opened.add_fields(field.name);
  AddWarnings(warnings, opened);
  base::MutexLock lock(&mutex_);
  if (hung_up_) return ClientHungUp();
  readers_.push_back(*std::move(opening));
  places_.AddReader(std::move(place));
  opened.set_reader_id(readers_.size());
  return absl::OkStatus();
}

absl::Status Session::Fetch(const proto::Fetch& request,
                            proto::Fetched& fetched, Fds& fetched_fds) {
  std::shared_ptr<fetch::SampleReader> reader;
  {
    base::MutexLock lock(&mutex_);
    const std::uint64_t id = request.reader_id();
    if (id < 1 || id > readers_.size()) {
      return absl::NotFoundError(
          absl::StrCat("this session has no reader ", id));
    }
    reader = readers_[id - 1];
  }
  const std::vector<std::uint64_t> samples(request.samples().begin(),
                                           request.samples().end());
  auto result = reader->Fetch(samples, interruption_.get_token());
  if (!result.ok()) return Explain(result.status());
  DescribeFetched(*std::move(result), fetched, fetched_fds);
  return absl::OkStatus();
}

absl::Status Session::ReadObject(const proto::ReadObject& request, Fds fds,
                                 proto::ObjectRead& read, Fds& read_fds) {
  if (objects_ == nullptr) {
    base::MutexLock lock(&mutex_);
    objects_ =
        std::make_unique<ObjectReads>(attachment_->MakeObjectReader(), remote_);
  }
  return Explain(objects_->Read(request, std::move(fds),
                                interruption_.get_token(), read, read_fds));
}

absl::Status Session::StartEpoch(const proto::StartEpoch& request,
                                 const Fds& fds, proto::EpochStarted& started,
                                 Fds& slot_fds) {
  FOREBAY_ASSIGN_OR_RETURN(const auto loader, Find(request.loader_id()));
  if (fds.size() != (request.listed() ? 1 : 0)) {
    return absl::InvalidArgumentError(
        "an epoch comes with the list of its samples, or with nothing");
  }
  const base::Fd no_list;
  FOREBAY_ASSIGN_OR_RETURN(
      slot_fds, loader->StartEpoch(request.epoch(), request.first_sample(),
                                   request.listed() ? fds[0] : no_list));
  const std::size_t parts = loader->placement().device == nullptr ? 1 : 2;
  started.set_slot_count(static_cast<std::uint32_t>(slot_fds.size() / parts));
  started.set_slot_bytes(loader->slot_size().host);
  started.set_lease_quota(stream::kLeaseQuota);
  return absl::OkStatus();
}

absl::Status Session::CloseLoader(std::uint64_t id,
                                  proto::LoaderClosed& closed) {
  FOREBAY_ASSIGN_OR_RETURN(const auto loader, Find(id));
  closed.set_published(loader->StopEpoch());
  loader->Close();
  base::MutexLock lock(&mutex_);
  closed_.push_back(loader);
  open_.erase(id);
  return absl::OkStatus();
}

absl::Status Session::GetStats(std::uint64_t id, proto::LoaderCounters* out) {
  FOREBAY_ASSIGN_OR_RETURN(const auto loader, Find(id));
  *out = loader->Snapshot().Counters();
  return absl::OkStatus();
}

absl::Status Session::GetSlots(const proto::GetSlots& request, Fds& slot_fds) {
  FOREBAY_ASSIGN_OR_RETURN(const auto loader, Find(request.loader_id()));
  FOREBAY_ASSIGN_OR_RETURN(slot_fds, loader->SlotsFrom(request.first()));
  return absl::OkStatus();
}

absl::Status Session::StartWorkers(const proto::StartWorkers& request,
                                   Fds& fds) {
  const std::uint32_t most = request.workers();
  if (most < 1 || most > proto::kMaxWorkers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a loader has 1 to ", proto::kMaxWorkers, " workers, not ", most));
  }
  FOREBAY_ASSIGN_OR_RETURN(const auto loader, Find(request.loader_id()));
  FOREBAY_ASSIGN_OR_RETURN(
      fds.emplace_back(),
      loader->StartWorkers(most, request.persistent(), Owner()));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<job::Loader>> Session::Find(
    std::uint64_t id) const {
  base::MutexLock lock(&mutex_);
  const auto found = open_.find(id);
  if (found == open_.end()) {
    return absl::NotFoundError(absl::StrCat("this session has no loader ", id));
  }
  return found->second;
}

int Session::pidfd() const {
  base::MutexLock lock(&mutex_);
  return pidfd_.get();
}

int Session::lifeline() const {
  base::MutexLock lock(&mutex_);
  return lifeline_.get();
}

std::vector<std::shared_ptr<job::Loader>> Session::Loaders() const {
  base::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<job::Loader>> loaders = closed_;
  for (const auto& [id, loader] : open_) loaders.push_back(loader);
  return loaders;
}

std::vector<std::shared_ptr<job::Loader>> Session::DropReleased() {
  std::vector<std::shared_ptr<job::Loader>> dropped;
  base::MutexLock lock(&mutex_);
  const auto first =
      std::partition(closed_.begin(), closed_.end(),
                     [](const std::shared_ptr<job::Loader>& loader) {
                       return loader->HasLeases();
                     });
  std::move(first, closed_.end(), std::back_inserter(dropped));
  closed_.erase(first, closed_.end());
  return dropped;
}

void Session::CloseAll() {
  std::vector<std::shared_ptr<job::Loader>> open;
  {
    base::MutexLock lock(&mutex_);
    hung_up_ = true;
    for (auto& [id, loader] : open_) open.push_back(loader);
    open_.clear();
    closed_.insert(closed_.end(), open.begin(), open.end());
  }
  for (const std::shared_ptr<job::Loader>& loader : open) {
    loader->StopEpoch();
    // A request that is still under way must not start an epoch afterwards.
    loader->Close();
  }
}

Session::Holdings Session::Leave() {
  Holdings holdings;
  base::MutexLock lock(&mutex_);
  hung_up_ = true;
  pending_ = nullptr;
  if (attachment_ != nullptr) attachment_->Detach();
  holdings.loaders = std::move(closed_);
  for (auto& [id, loader] : open_) holdings.loaders.push_back(loader);
  closed_.clear();
  open_.clear();
  holdings.readers = std::move(readers_);
  readers_.clear();
  return holdings;
}

}  // namespace forebay::session
