#ifndef FOREBAY_SERVER_SESSION_ANSWER_MESSAGES_H_
#define FOREBAY_SERVER_SESSION_ANSWER_MESSAGES_H_

#include <vector>

#include "proto/session.pb.h"
#include "server/fetch/sample_reader.h"
#include "server/stream/stream_snapshot.h"

namespace forebay::session {

// Translate the rooms' results into answers. Thread-safe; neither function
// blocks or fails.

void FillStats(const stream::StreamSnapshot& snapshot, proto::Stats& stats);

// Adds the samples that could not be made, as far as a message has room for
// them.
void AddFailed(const std::vector<fetch::FailedSample>& failed,
               proto::Fetched& fetched);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_ANSWER_MESSAGES_H_
