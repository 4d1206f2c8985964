#include "client/core/open_request.h"

#include <cmath>
#include <utility>
#include <vector>

#include "client/core/reattach_seconds.h"
#include "client/wire/daemon_socket.h"
#include "client/wire/loader_spec.h"
#include "client/wire/packet_socket.h"

namespace forebay::client::core {
namespace {

// The largest spec, in bytes, that is sent in a message; the rest of the
// message takes at most 256 bytes. Longer specs, with many files or classes,
// travel in a memfd.
constexpr size_t kMaxInlineSpec = wire::kMaxMessage - 256;

// Returns the name of the first option that is 0 although it must not be; null
// if there is none. Protobuf cannot tell 0 from a missing field, so the daemon
// would take 0 for its default.
const char* ZeroOption(const forebay_loader_options& options) {
  if (options.weight == 0) return "weight";
  if (options.order == 0) return "order";
  if (options.world_size == 0) return "world_size";
  if (options.uneven == 0) return "uneven";
  if (options.on_error == 0) return "on_error";
  if (options.sharing == 0) return "sharing";
  return nullptr;
}

}  // namespace

Status OpenRequest::Create(const forebay_loader_options& options,
                           const wire::Dataset* dataset,
                           message::PipelineSpec pipeline,
                           std::unique_ptr<const OpenRequest>* out) {
  if (options.job_key == nullptr)
    return Status(FOREBAY_INVALID_ARGUMENT, "a loader needs a job key");
  if (std::isnan(options.reattach_seconds))
    return Status(FOREBAY_INVALID_ARGUMENT,
                  std::string("reattach_seconds, by default $") +
                      kReattachVariable + ", must be a number of seconds");
  if (const char* const zero = ZeroOption(options); zero != nullptr)
    return Status(FOREBAY_INVALID_ARGUMENT,
                  std::string("the option ") + zero +
                      " is 0: forebay_loader_options_init sets the defaults");
  std::unique_ptr<OpenRequest> request(new OpenRequest);
  if (dataset == nullptr) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        wire::Dataset::FromOptions(options, &request->dataset_));
  } else {
    request->dataset_ = *dataset;
  }
  request->runtime_dir_ = options.runtime_dir != nullptr
                              ? options.runtime_dir
                              : wire::RuntimeDirectory();
  request->job_key_ = options.job_key;
  if (options.job_name != nullptr) request->job_name_ = options.job_name;
  request->weight_ = options.weight;
  FOREBAY_CLIENT_RETURN_IF_ERROR(request->OpenGpu(options.device));
  message::LoaderSpec spec = wire::MakeLoaderSpec(options);
  spec.dataset = request->dataset_.spec();
  spec.pipeline = std::move(pipeline);
  if (request->gpu_ != nullptr)
    spec.placement = {.gpu_uuid = request->gpu_->uuid(),
                      .finished = !request->gpu_->has_tail()};
  if (const std::string bytes = message::Serialize(spec);
      bytes.size() > kMaxInlineSpec) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        wire::SealedMemory(bytes, &request->spec_memory_));
  } else {
    request->spec_ = std::move(spec);
  }
  *out = std::move(request);
  return Status();
}

Status OpenRequest::OpenGpu(std::int32_t device) {
  if (device < 0) return Status();
  Status opened = device::Gpu::Open(device, &gpu_);
  if (opened.code != FOREBAY_UNIMPLEMENTED) return opened;
  refusal_ = opened.message;
  return Status();
}

Status OpenRequest::SendOpenLoader(std::unique_ptr<wire::Session>* session,
                                   std::uint64_t* request) const {
  FOREBAY_CLIENT_RETURN_IF_ERROR(Connect(session));
  Status sent = (*session)->Send(
      message::OpenLoader{.spec = spec_, .spec_in_memfd = !spec_}, fds(),
      request);
  // If the daemon has greeted and is gone again, this returns no error. The
  // caller gets a lost session, and reattaches.
  return sent.code == FOREBAY_UNAVAILABLE ? Status() : sent;
}

Status OpenRequest::SendOpenReader(bool decode,
                                   std::unique_ptr<wire::Session>* session,
                                   std::uint64_t* request) const {
  FOREBAY_CLIENT_RETURN_IF_ERROR(Connect(session));
  return (*session)->Send(
      message::OpenReader{
          .spec = spec_, .spec_in_memfd = !spec_, .decode = decode},
      fds(), request);
}

Status OpenRequest::Connect(std::unique_ptr<wire::Session>* session) const {
  return wire::Session::Open(runtime_dir_, job_key_, job_name_, weight_,
                             session);
}

std::vector<int> OpenRequest::fds() const {
  std::vector<int> fds = dataset_.fds();
  if (spec_memory_) fds.push_back(spec_memory_.get());
  return fds;
}

}  // namespace forebay::client::core
