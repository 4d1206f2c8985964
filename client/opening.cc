#include "client/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <string_view>
#include <utility>

#include "client/dataset_place.h"
#include "client/location.h"
#include "client/packet_socket.h"
#include "client/session.h"
#include "client/session_codec.h"

namespace forebay::client {
namespace {

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

Status Opening::Create(const forebay_loader_options& options,
                       const std::string& pipeline,
                       std::unique_ptr<Opening>* out) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOptions(options));
  std::unique_ptr<Opening> opening(new Opening);
  DatasetPlace place;
  FOREBAY_CLIENT_RETURN_IF_ERROR(FindPlace(options, &place));
  FOREBAY_CLIENT_RETURN_IF_ERROR(OpenFolders(options, place, &opening->fds_));
  opening->uri_ = options.uri;
  opening->runtime_dir_ =
      options.runtime_dir != nullptr ? options.runtime_dir : RuntimeDirectory();
  opening->job_key_ = options.job_key;
  if (options.job_name != nullptr) opening->job_name_ = options.job_name;
  opening->weight_ = options.weight;
  opening->spec_ = EncodeLoaderSpec(options, place, pipeline);
  if (opening->spec_.size() > kMaxInlineSpec) {
    Fd memory;
    FOREBAY_CLIENT_RETURN_IF_ERROR(SealedMemory(opening->spec_, &memory));
    opening->fds_.push_back(std::move(memory));
    opening->spec_.clear();
  }
  *out = std::move(opening);
  return Status();
}

Status Opening::Ask(std::shared_ptr<Link>* link, std::uint64_t* request) const {
  std::unique_ptr<Session> session;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      Session::Open(runtime_dir_, job_key_, job_name_, weight_, &session));
  std::vector<int> fds;
  for (const Fd& fd : fds_) fds.push_back(fd.get());
  const std::uint64_t id = session->NextRequestId();
  Status sent = session->Send(id, EncodeOpenLoader(id, spec_), fds);
  // A daemon that greets and goes away was there: the link tells that it is
  // lost.
  if (!sent.ok() && sent.code != FOREBAY_UNAVAILABLE) return sent;
  *link = Link::Create(std::move(session));
  *request = id;
  return Status();
}

}  // namespace forebay::client
