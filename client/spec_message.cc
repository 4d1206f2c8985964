#include "client/spec_message.h"

#include "client/packet_socket.h"
#include "client/session_codec.h"

namespace forebay::client {
namespace {

// Left of a message for what surrounds a spec.
constexpr size_t kMaxInlineSpec = kMaxMessage - 256;

}  // namespace

std::vector<int> SpecMessage::fds() const {
  std::vector<int> fds = dataset.fds();
  if (memory) fds.push_back(memory.get());
  return fds;
}

Status OpenWithSpec(const forebay_loader_options& options,
                    const Dataset* dataset, const std::string& pipeline,
                    std::unique_ptr<Session>* session, SpecMessage* message) {
  if (options.job_key == nullptr)
    return Status(FOREBAY_INVALID_ARGUMENT, "a loader needs a job key");
  if (dataset != nullptr) {
    message->dataset = *dataset;
  } else {
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        Dataset::FromPlace(options, &message->dataset));
  }
  FOREBAY_CLIENT_RETURN_IF_ERROR(Session::Open(
      options.runtime_dir != nullptr ? options.runtime_dir : "",
      options.job_key, options.job_name != nullptr ? options.job_name : "",
      options.weight, session));
  message->spec = EncodeLoaderSpec(options, message->dataset.spec(), pipeline);
  if (message->spec.size() <= kMaxInlineSpec) return Status();
  FOREBAY_CLIENT_RETURN_IF_ERROR(SealedMemory(message->spec, &message->memory));
  message->spec.clear();
  return Status();
}

}  // namespace forebay::client
