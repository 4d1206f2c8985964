#include "server/session/request_key.h"

#include "absl/strings/str_cat.h"

namespace forebay::session {
namespace {

// The most bytes of a UUID that become part of a key, because a client may send
// any text. A whole UUID has 36 bytes.
constexpr std::size_t kMostOfUuid = 40;

// Returns the group of the requests that may wait for a GPU.
std::string GroupOf(const std::string& uuid) {
  return absl::StrCat("GPU ", uuid.substr(0, kMostOfUuid));
}

// Returns the kind that is shown to people for a request; nullopt if the
// request is not shown.
std::optional<job::PendingRequest::Kind> KindOf(
    const proto::ClientMessage& request) {
  using Kind = job::PendingRequest::Kind;
  switch (request.kind_case()) {
    case proto::ClientMessage::kOpenLoader:
    case proto::ClientMessage::kOpenReader:
      return Kind::kOpening;
    case proto::ClientMessage::kFetch:
      return Kind::kFetching;
    case proto::ClientMessage::kReadObject:
      return Kind::kReading;
    case proto::ClientMessage::kStartEpoch:
      return Kind::kStarting;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::uint64_t LoaderOf(const proto::ClientMessage& request) {
  switch (request.kind_case()) {
    case proto::ClientMessage::kStartEpoch:
      return request.start_epoch().loader_id();
    case proto::ClientMessage::kStopEpoch:
      return request.stop_epoch().loader_id();
    case proto::ClientMessage::kCloseLoader:
      return request.close_loader().loader_id();
    case proto::ClientMessage::kStartWorkers:
      return request.start_workers().loader_id();
    default:
      return 0;
  }
}

// A request that concerns a loader may wait for the loader's workers or GPU.
// Other requests may wait for the place from which they read. Each request
// belongs to the group of its job. Greetings share a group of their own,
// because before a greeting there is no job.
RequestKey KeyOf(const proto::ClientMessage& request,
                 const RequestSubject& subject) {
  if (request.has_hello()) return {subject.job, {"greetings"}};
  if (subject.loader != nullptr) {
    if (subject.loader->stream()->needs_workers())
      return {absl::StrCat(subject.job, ": workers"), {subject.job}};
    if (const auto& device = subject.loader->placement().device) {
      const std::string gpu = GroupOf(device->info().uuid);
      return {absl::StrCat(subject.job, ": ", gpu), {gpu, subject.job}};
    }
  }
  RequestKey key = {subject.job};
  if (subject.place.has_value()) {
    const AwaitedPlace& place = *subject.place;
    key = {absl::StrCat(subject.job, ": ",
                        place.host.empty() ? place.uri : place.host),
           {place.group, subject.job}};
  } else if (request.has_open_loader() || request.has_open_reader()) {
    key = {absl::StrCat(subject.job, ": opening"), {subject.job}};
  }
  if (request.has_open_loader() &&
      request.open_loader().spec().has_placement()) {
    const std::string gpu =
        GroupOf(request.open_loader().spec().placement().gpu_uuid());
    key.name += " on " + gpu;
    key.groups.push_back(gpu);
  }
  return key;
}

std::optional<job::PendingRequest> PendingOf(
    const proto::ClientMessage& request, const RequestSubject& subject,
    std::int64_t now_nanos) {
  const auto kind = KindOf(request);
  if (!kind.has_value()) return std::nullopt;
  job::PendingRequest pending;
  pending.kind = *kind;
  pending.since_nanos = now_nanos;
  if (subject.loader != nullptr) pending.uri = subject.loader->dataset().uri();
  if (!subject.place.has_value()) return pending;
  pending.uri = subject.place->uri;
  pending.host = subject.place->host;
  if (request.has_read_object())
    absl::StrAppend(&pending.uri, pending.uri.ends_with('/') ? "" : "/",
                    request.read_object().name().substr(0, 512));
  return pending;
}

std::set<std::string> GpusOf(
    const std::vector<std::shared_ptr<job::Loader>>& loaders) {
  std::set<std::string> gpus;
  for (const std::shared_ptr<job::Loader>& loader : loaders) {
    if (const auto& device = loader->placement().device)
      gpus.insert(device->info().uuid);
  }
  return gpus;
}

RequestKey KeyOfEnd(const std::string& job, const std::set<std::string>& gpus) {
  RequestKey key = {absl::StrCat(job, ": end")};
  for (const std::string& uuid : gpus) {
    const std::string gpu = GroupOf(uuid);
    key.name += " on " + gpu;
    key.groups.push_back(gpu);
  }
  return key;
}

}  // namespace forebay::session
