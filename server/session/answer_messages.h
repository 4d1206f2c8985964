#ifndef FOREBAY_SERVER_SESSION_ANSWER_MESSAGES_H_
#define FOREBAY_SERVER_SESSION_ANSWER_MESSAGES_H_

#include <vector>

#include "proto/session.pb.h"
#include "server/fetch/sample_reader.h"
#include "server/stream/stream_snapshot.h"

namespace forebay::session {

// These functions translate results of other rooms into answers of the
// protocol. They are thread-safe, never block and have no errors.

// Fills a loader's statistics.
void FillStats(const stream::StreamSnapshot& snapshot, proto::Stats& stats);

// Adds the samples that could not be made, as many as a message has room for.
void AddFailed(const std::vector<fetch::FailedSample>& failed,
               proto::Fetched& fetched);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_ANSWER_MESSAGES_H_
