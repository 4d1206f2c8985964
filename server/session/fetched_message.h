#ifndef FOREBAY_SERVER_SESSION_FETCHED_MESSAGE_H_
#define FOREBAY_SERVER_SESSION_FETCHED_MESSAGE_H_

#include <vector>

#include "proto/session.pb.h"
#include "server/base/fd.h"
#include "server/fetch/sample_reader.h"

namespace forebay::session {

// Fills the answer to a fetch. Adds the descriptor of a new window to `fds`.
// Lists the samples that could not be made, as many as a message has room for.
// Thread-safe; never blocks; has no errors.
void DescribeFetched(fetch::Fetched fetched, proto::Fetched& message,
                     std::vector<base::Fd>& fds);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_FETCHED_MESSAGE_H_
