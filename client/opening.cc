#include "client/opening.h"

#include <utility>
#include <vector>

#include "client/location.h"
#include "client/packet_socket.h"
#include "client/session.h"
#include "client/session_codec.h"

namespace forebay::client {
namespace {

// Left of a message for what surrounds a spec.
constexpr size_t kMaxInlineSpec = kMaxMessage - 256;

}  // namespace

Status Opening::Create(const forebay_loader_options& options,
                       const Dataset* dataset, const std::string& pipeline,
                       std::unique_ptr<Opening>* out) {
  if (options.job_key == nullptr)
    return Status(FOREBAY_INVALID_ARGUMENT, "a loader needs a job key");
  std::unique_ptr<Opening> opening(new Opening);
  if (dataset == nullptr) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        Dataset::FromPlace(options, &opening->dataset_));
  } else {
    opening->dataset_ = *dataset;
  }
  opening->runtime_dir_ =
      options.runtime_dir != nullptr ? options.runtime_dir : RuntimeDirectory();
  opening->job_key_ = options.job_key;
  if (options.job_name != nullptr) opening->job_name_ = options.job_name;
  opening->weight_ = options.weight;
  opening->spec_ =
      EncodeLoaderSpec(options, opening->dataset_.spec(), pipeline);
  if (opening->spec_.size() > kMaxInlineSpec) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        SealedMemory(opening->spec_, &opening->spec_memory_));
    opening->spec_.clear();
  }
  *out = std::move(opening);
  return Status();
}

Status Opening::Ask(std::shared_ptr<Link>* link, std::uint64_t* request) const {
  std::unique_ptr<Session> session;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      Session::Open(runtime_dir_, job_key_, job_name_, weight_, &session));
  std::vector<int> fds = dataset_.fds();
  if (spec_memory_) fds.push_back(spec_memory_.get());
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
