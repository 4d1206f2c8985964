#ifndef FOREBAY_SERVER_STREAM_BATCH_POLICY_H_
#define FOREBAY_SERVER_STREAM_BATCH_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "server/arena/slot_pool.h"
#include "server/stream/batch.h"
#include "server/stream/cursor.h"
#include "server/stream/sharing_mode.h"
#include "server/stream/sharing_state.h"

// The policies of a stream's schedule: which batch is made next, whether a
// cached batch is evicted for it, and what members share. All are pure
// functions of a snapshot; BatchScheduler takes it and carries them out.

namespace forebay::stream {

// The next batch that one member needs, and that is neither cached nor in
// flight.
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
// none.
std::optional<std::size_t> NextRequest(absl::Span<const BatchRequest> requests);

// A cached batch whose slot a request would get.
struct Eviction {
  // A member that will still read the cached batch.
  struct Reader {
    std::int64_t nanos = 0;  // until it reads the batch
    bool is_requester = false;
    bool capped = false;  // its job has a cap
  };

  absl::Span<const Reader> readers;
  std::int64_t made_nanos = 0;  // that it took to make the batch
  bool is_before = false;       // the batch stands before the requested one
  bool hungry = false;          // as BatchRequest's
  bool has_nothing = false;     // as BatchRequest's
  bool none_in_flight = false;  // the stream makes no batch
  bool hangs = false;           // it makes some, and all hang in reads
  bool grows = false;           // one more slot is being made
  SharingMode sharing_mode = SharingMode::kElastic;
};

// Whether the batch is evicted, rather than that the request waits.
//
// No worker idles while a trainer waits: an expected reader may have stopped,
// and no event tells. Else a slot that is being made is worth the wait. So is a
// reader that comes within the time that it takes to make the batch once more,
// among others.
bool MayEvict(const Eviction& eviction);

// A member whose epoch is under way, as the others see it.
struct MemberView {
  const Cursor* cursor = nullptr;
  std::uint32_t slots = 0;
  bool has_next = false;  // its next batch is cached or in flight
  std::optional<BatchRequest> request = std::nullopt;
};

// Returns what member number `own` of the running ones shares with the others.
Sharing SharingOf(absl::Span<const MemberView> running, std::size_t own);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_POLICY_H_
