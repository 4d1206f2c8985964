#ifndef FOREBAY_SERVER_STREAM_BATCH_POLICY_H_
#define FOREBAY_SERVER_STREAM_BATCH_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "server/slots/slot_pool.h"
#include "server/stream/batch.h"
#include "server/stream/cursor.h"
#include "server/stream/sharing_mode.h"
#include "server/stream/sharing_state.h"

// The policies of a stream's schedule: which batch is made next, whether a
// cached batch is evicted for it, and what members share. All are pure
// functions of a snapshot. BatchScheduler takes the snapshot and carries out
// the decision.

namespace forebay::stream {

// A member's request: the next batch that the member needs and that is neither
// cached nor in flight.
struct BatchRequest {
  slots::MemberId member = 0;
  BatchKey key;
  Position position = 0;
  // The number of samples of the member's epoch from `key` to its end.
  std::uint64_t left = 0;
  // Whether the member may have one more batch in flight.
  bool open = false;
  // Whether the member's trainer waits for a batch.
  bool hungry = false;
  // Whether the member has no batch to take, and none in flight.
  bool has_nothing = false;
  // Whether members ahead may give way to this one.
  bool claims = false;
  // The number of batches made for the member so far. A batch made for several
  // members counts in part.
  double served = 0;
};

// Whether `leader` gives way to `follower`, which is behind it: all batches are
// then made for the follower until both meet. This pays if the leader has more
// than twice the gap left of its epoch. If decoding is the bottleneck, both
// then end sooner than with a sequence of batches each.
bool GivesWay(const BatchRequest& leader, const BatchRequest& follower);

// Returns the index of the request to grant next; nullopt if there is none.
// Candidates are the open requests that give way to no claiming request. Among
// them, the request whose member was served least wins.
std::optional<std::size_t> NextRequest(absl::Span<const BatchRequest> requests);

// The situation in which a cached batch would be evicted for a request.
struct Eviction {
  // A member that will still read the cached batch.
  struct Reader {
    // The nanoseconds until the member reads the batch.
    std::int64_t nanos = 0;
    bool is_requester = false;
    // Whether the member's job has a cap.
    bool capped = false;
  };

  absl::Span<const Reader> readers;
  // The nanoseconds that it took to make the cached batch.
  std::int64_t make_nanos = 0;
  // Whether the cached batch comes before the requested one.
  bool is_before = false;
  // The requester's BatchRequest::hungry and has_nothing.
  bool hungry = false;
  bool has_nothing = false;
  // Whether no batch is in flight.
  bool none_in_flight = false;
  // Whether batches are in flight, and all of them hang in reads.
  bool hangs = false;
  // Whether one more slot is being made.
  bool grows = false;
  SharingMode sharing_mode = SharingMode::kElastic;
};

// Whether the cached batch is evicted. If not, the request waits.
//
// While one more slot is being made, nothing is evicted. A batch that comes
// after the requested one is evicted: it can be made again in time. A batch
// that comes before it is kept for the requester itself and, in lockstep, for
// any reader. It is also kept for a reader without a cap that comes within four
// times `make_nanos`.
//
// While a trainer waits and, as far as is known, no thread works for it, two
// rules do not hold. A slot that is being made does not prevent the eviction.
// No batch is kept for a reader that comes within some time: no event tells
// whether that reader has stopped.
bool MayEvict(const Eviction& eviction);

// A member whose epoch is under way, as the policy for sharing states sees it.
struct MemberView {
  const Cursor* cursor = nullptr;
  // The number of slots that the member pays for.
  std::uint32_t slots = 0;
  // Whether the member's next batch is cached or in flight.
  bool has_next = false;
  std::optional<BatchRequest> request = std::nullopt;
};

// Returns the sharing state of the member `running[own]`.
Sharing SharingOf(absl::Span<const MemberView> running, std::size_t own);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_POLICY_H_
