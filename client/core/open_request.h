#ifndef FOREBAY_CLIENT_CORE_OPEN_REQUEST_H_
#define FOREBAY_CLIENT_CORE_OPEN_REQUEST_H_

#include <cstdint>
#include <memory>
#include <string>

#include "client/base/status.h"
#include "client/device/gpu.h"
#include "client/forebay.h"
#include "client/wire/dataset.h"
#include "client/wire/session.h"
#include "proto/fd.h"

namespace forebay::client::core {

// All that it takes to ask a daemon for a loader or a reader, as often as
// daemons come and go: the socket's directory, the job, the spec, and the
// dataset's folders. The folders stay the same even if their paths come to mean
// others.
//
// Immutable, and so thread-safe. Owns the folders' descriptors. SendOpen* block
// for the handshake, at most 10 s. Errors: named at each method.
class OpenRequest {
 public:
  // Reads the options, which need not outlive the call. `dataset`: null for the
  // one that the options describe. Determines the socket's directory once: a
  // client of the machine's daemon must not go to another one while that is
  // away. INVALID_ARGUMENT, or why a folder or the GPU cannot be opened.
  static Status Create(const forebay_loader_options& options,
                       const wire::Dataset* dataset,
                       const std::string& pipeline,
                       std::unique_ptr<const OpenRequest>* out);

  // The GPU on which batches are to lie; null: on the host.
  const std::shared_ptr<device::Gpu>& gpu() const { return gpu_; }
  // Why there is none although the options name one; else empty.
  const std::string& refusal() const { return refusal_; }
  // The dataset's name for people.
  const std::string& uri() const { return dataset_.uri(); }

  // Connect, and send a request whose answer the caller must await on
  // `session`. UNAVAILABLE if no daemon listens or greets; FAILED_PRECONDITION
  // if it speaks another protocol; else the daemon's reason to refuse this
  // client.
  Status SendOpenLoader(std::unique_ptr<wire::Session>* session,
                        std::uint64_t* request) const;
  Status SendOpenReader(bool decode, std::unique_ptr<wire::Session>* session,
                        std::uint64_t* request) const;

 private:
  OpenRequest() = default;

  // Where there is no plug-in, or no driver for it, batches lie on the host.
  Status OpenGpu(std::int32_t device);
  Status Connect(std::unique_ptr<wire::Session>* session) const;
  Status Send(wire::Session& session, std::uint64_t request,
              const std::string& message) const;

  std::shared_ptr<device::Gpu> gpu_;
  std::string refusal_;
  wire::Dataset dataset_;
  std::string runtime_dir_;
  std::string job_key_;
  std::string job_name_;
  double weight_ = 1;
  std::string spec_;       // empty if it is too long for a message
  proto::Fd spec_memory_;  // which then has it
};

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_OPEN_REQUEST_H_
