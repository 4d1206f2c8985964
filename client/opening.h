#ifndef FOREBAY_CLIENT_OPENING_H_
#define FOREBAY_CLIENT_OPENING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "client/dataset.h"
#include "client/fd.h"
#include "client/forebay.h"
#include "client/link.h"
#include "client/status.h"

namespace forebay::client {

// All that it takes to ask a daemon for a loader, as often as daemons come and
// go: where it listens, the job, the spec, and the dataset's folders, which
// stay what they were even if their paths come to mean others.
//
// Immutable, and so thread-safe. Owns the folders' descriptors. Ask blocks for
// the handshake, at most 10 s. Errors: named at each method.
class Opening {
 public:
  // Reads the options, which need not outlive the call; `dataset` null: the one
  // that they describe. The place of the daemon's socket is settled here, once:
  // a client of the machine's daemon must not go to another only because that
  // one is away. INVALID_ARGUMENT; else why a folder cannot be opened.
  static Status Create(const forebay_loader_options& options,
                       const Dataset* dataset, const std::string& pipeline,
                       std::unique_ptr<Opening>* out);

  // The dataset as people know it.
  const std::string& uri() const { return dataset_.uri(); }

  // Connects and asks; the answer to `*request` is to be awaited. UNAVAILABLE
  // if no daemon listens, or it does not greet; FAILED_PRECONDITION if it
  // speaks another protocol; else why it will not have this client.
  Status Ask(std::shared_ptr<Link>* link, std::uint64_t* request) const;

 private:
  Opening() = default;

  Dataset dataset_;
  std::string runtime_dir_;
  std::string job_key_;
  std::string job_name_;
  double weight_ = 1;
  std::string spec_;
  Fd spec_memory_;  // has the spec where that is too long for a message
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_OPENING_H_
