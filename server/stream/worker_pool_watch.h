#ifndef FOREBAY_SERVER_STREAM_WORKER_POOL_WATCH_H_
#define FOREBAY_SERVER_STREAM_WORKER_POOL_WATCH_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "server/slots/slot_pool.h"
#include "server/stream/member.h"
#include "server/stream/member_set.h"
#include "server/stream/sample_cost.h"
#include "server/worker/worker_set.h"

namespace forebay::stream {

// Decides how long members wait for a worker pool that stands still, for
// example because its trainer is paused. A member waits far longer for its own
// worker pool than for another loader's. Time counts only while the member's
// trainer itself runs.
//
// Not thread-safe: the stream guards it. Owns its figures. Never blocks. The
// errors that end epochs are those of EndOf.
class WorkerPoolWatch {
 public:
  // `has_affinity` says whether only one worker can make a sample. `is_live`
  // says whether the dataset is live; its members wait for ever.
  WorkerPoolWatch(bool has_affinity, bool is_live)
      : has_affinity_(has_affinity), is_live_(is_live) {}

  // Tells that the worker pool is now that of the member.
  void SetOwner(slots::MemberId member) { owner_ = member; }

  // Begins a look at the worker pool. Returns what WorkerSet::Look needs;
  // nullopt if the last look was less than half a second ago. `cost` is the
  // cost of the stream's samples.
  std::optional<worker::WorkerSet::Need> BeginLook(MemberSet* members,
                                                   const SampleCost& cost,
                                                   std::int64_t now_nanos);
  // Ends the look: the worker pool has been silent for `silent_nanos`
  // (WorkerSet::SilentNanos).
  void EndLook(MemberSet* members, std::int64_t silent_nanos);
  // Returns the error that ends the member's epoch: ABORTED if the member has
  // waited too long, otherwise OK.
  absl::Status EndOf(const Member& member) const;

  // Whether the worker pool stood still at the last look.
  bool stands_still() const { return stands_still_; }

 private:
  const bool has_affinity_;
  const bool is_live_;
  // The member whose worker pool makes the samples; 0 if there is none.
  slots::MemberId owner_ = 0;
  // The time of the last look.
  std::int64_t looked_at_nanos_ = INT64_MIN / 2;
  // For how long the worker pool had been silent at the last look.
  std::int64_t silent_nanos_ = 0;
  bool stands_still_ = false;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_WORKER_POOL_WATCH_H_
