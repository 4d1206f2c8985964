#ifndef FOREBAY_CLIENT_CORE_OPEN_REQUEST_H_
#define FOREBAY_CLIENT_CORE_OPEN_REQUEST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/base/status.h"
#include "client/device/gpu.h"
#include "client/forebay.h"
#include "client/wire/dataset.h"
#include "client/wire/session.h"
#include "proto/fd.h"
#include "proto/job.message.h"

namespace forebay::client::core {

// The request to open a loader or a reader: the socket's directory, the job,
// the spec, and the dataset's folders. The request can be sent to several
// daemons, one after the other. The folders stay open, so all daemons get the
// same folders even if their paths lead elsewhere later.
//
// Immutable, and therefore thread-safe. Owns the folders' descriptors.
// SendOpenLoader and SendOpenReader block for the handshake, at most 10 s.
// Errors: named at each method.
class OpenRequest {
 public:
  // Reads the options, which need not outlive the call. `dataset`: null for the
  // dataset that the options describe. Determines the socket's directory only
  // once. While the daemon of that directory is away, the client must not
  // connect to another daemon. INVALID_ARGUMENT if an option is wrong; other
  // errors say why a folder or the GPU cannot be opened.
  static Status Create(const forebay_loader_options& options,
                       const wire::Dataset* dataset,
                       message::PipelineSpec pipeline,
                       std::unique_ptr<const OpenRequest>* out);

  // Returns the GPU on which batches shall lie; null if they shall lie on the
  // host.
  const std::shared_ptr<device::Gpu>& gpu() const { return gpu_; }
  // Returns why gpu() is null although the options name a GPU. Returns an empty
  // text in all other cases.
  const std::string& refusal() const { return refusal_; }
  // Returns the dataset's name for people.
  const std::string& uri() const { return dataset_.uri(); }

  // Connects, and sends a request whose answer the caller must await on
  // `session`. UNAVAILABLE if no daemon listens or greets; FAILED_PRECONDITION
  // if the daemon speaks another protocol. Other errors are the daemon's reason
  // to refuse this client.
  Status SendOpenLoader(std::unique_ptr<wire::Session>* session,
                        std::uint64_t* request) const;
  // Connects, and asks for a reader in the same way. `decode`: whether images
  // come as pixels.
  Status SendOpenReader(bool decode, std::unique_ptr<wire::Session>* session,
                        std::uint64_t* request) const;

 private:
  OpenRequest() = default;

  // Opens CUDA's device number `device`; negative: none. Sets the refusal, and
  // succeeds, if there is no plug-in or no driver: batches then lie on the
  // host.
  Status OpenGpu(std::int32_t device);
  Status Connect(std::unique_ptr<wire::Session>* session) const;
  // Returns the dataset's descriptors, and spec_memory_ if it is set.
  std::vector<int> fds() const;

  std::shared_ptr<device::Gpu> gpu_;
  std::string refusal_;
  wire::Dataset dataset_;
  std::string runtime_dir_;
  std::string job_key_;
  std::string job_name_;
  double weight_ = 1;
  // The spec; unset if it is too long for a message. The memfd spec_memory_
  // then holds the serialized spec.
  std::optional<message::LoaderSpec> spec_;
  proto::Fd spec_memory_;
};

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_OPEN_REQUEST_H_
