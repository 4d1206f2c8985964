#ifndef FOREBAY_SERVER_SESSION_ANSWER_MESSAGES_H_
#define FOREBAY_SERVER_SESSION_ANSWER_MESSAGES_H_

#include <vector>

#include "proto/session.pb.h"
#include "server/fetch/sample_reader.h"

namespace forebay::session {

// Adds the samples that could not be made to an answer, as many as a message
// has room for. Thread-safe; never blocks or fails.
void AddFailed(const std::vector<fetch::FailedSample>& failed,
               proto::Fetched& fetched);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_ANSWER_MESSAGES_H_
