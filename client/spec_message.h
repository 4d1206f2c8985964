#ifndef FOREBAY_CLIENT_SPEC_MESSAGE_H_
#define FOREBAY_CLIENT_SPEC_MESSAGE_H_

#include <memory>
#include <string>
#include <vector>

#include "client/dataset.h"
#include "client/fd.h"
#include "client/session.h"
#include "client/status.h"

namespace forebay::client {

// A loader's spec on its way to the daemon, and what goes with it. Owns the
// descriptors, or shares them with its dataset.
struct SpecMessage {
  std::string spec;  // empty: it lies in the memory
  Dataset dataset;
  Fd memory;

  std::vector<int> fds() const;
};

// Opens a session for who is to be told the spec of these options, and writes
// it. `dataset` null: the one that the options describe. Blocks as
// Session::Open; errors: that's, and Dataset::FromPlace's.
Status OpenWithSpec(const forebay_loader_options& options,
                    const Dataset* dataset, const std::string& pipeline,
                    std::unique_ptr<Session>* session, SpecMessage* message);

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_SPEC_MESSAGE_H_
