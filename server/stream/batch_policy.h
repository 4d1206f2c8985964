#ifndef FOREBAY_SERVER_STREAM_BATCH_POLICY_H_
#define FOREBAY_SERVER_STREAM_BATCH_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "server/arena/slot_pool.h"
#include "server/stream/batch.h"

namespace forebay::stream {

// The next batch that one member needs, and that is neither kept nor in flight.
struct BatchRequest {
  arena::MemberId member = 0;
  BatchKey key;
  Position position = 0;
  std::uint64_t left = 0;    // samples of its epoch, from there on
  bool open = false;         // the member may have one more batch in flight
  bool hungry = false;       // its trainer waits for a batch
  bool has_nothing = false;  // it has no batch to take, and none in flight
  bool claims = false;       // members ahead of it may give way to it
  double served = 0;         // batches that were made for the member so far
};

// Whether the member ahead gives way to the one behind it: until these meet,
// all batches are made for the latter. Where decoding limits both, both then
// end sooner than with a sequence each, if the leader has enough left: that is,
// if it has more than twice the gap left.
bool GivesWay(const BatchRequest& leader, const BatchRequest& follower);

// Returns the request to grant next: of the open ones that give way to no
// claiming request, the one whose member was served least; nullopt if there is
// none. Pure.
std::optional<std::size_t> NextRequest(absl::Span<const BatchRequest> requests);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_POLICY_H_
