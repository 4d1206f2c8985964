#ifndef FOREBAY_SERVER_STREAM_AUDIENCE_H_
#define FOREBAY_SERVER_STREAM_AUDIENCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "proto/job.pb.h"
#include "server/arena/channel.h"
#include "server/arena/slot_pool.h"
#include "server/schedule/flow.h"
#include "server/stream/batch.h"
#include "server/stream/course.h"
#include "server/stream/member.h"

namespace forebay::stream {

// The members of a stream. Not thread-safe: the stream guards it. Channels
// belong to the members and outlive their part. Never blocks; no errors.
class Audience {
 public:
  Audience(const proto::BatchSpec& batch, const Member::Forecasts& forecasts)
      : batch_(batch), forecasts_(forecasts) {}

  // Members count from 1: 0 is free for the stream's own leases.
  Member& Join(arena::Channel* channel, const Member::Terms& terms);
  void Remove(arena::Holder member);
  // Null if there is none, or it was removed.
  Member* Find(arena::Holder member) const;
  // The member starts an epoch, as Member::Start.
  void Start(Member& member, std::shared_ptr<const Course> course,
             std::uint64_t first_sample, std::int64_t now_nanos);

  auto begin() const { return members_.begin(); }
  auto end() const { return members_.end(); }
  std::size_t size() const { return members_.size(); }

  // Members whose epoch is under way.
  std::size_t Running() const;
  // Whether any may still start one.
  bool AnyPaying() const;
  // Whether more than one was at once: then others may come to what is kept,
  // too.
  bool was_shared() const { return was_shared_; }
  // Whom the stream's work is charged to: each flow of those once.
  std::vector<schedule::Flow> Flows() const;
  // Those of the members that come to the batch, if all of these have caps;
  // else none.
  std::vector<schedule::Flow> CappedFlows(const BatchKey& key) const;
  // Whether one of the flows is a member's that has no cap.
  bool AnyUncapped(const std::vector<schedule::Flow>& flows) const;
  // Until the first of them takes the batch, as Member::NanosUntil says.
  std::int64_t NanosUntil(const BatchKey& key, std::int64_t now_nanos) const;

  // Those that come to the batch within the slots that they have.
  std::vector<arena::Holder> WhoComesTo(const BatchKey& key) const;
  // Whether one of them comes to the batch, and does not stand still.
  bool AwaitsSoon(const BatchKey& key, std::int64_t now_nanos) const;

  // Tells each member whether the stream looks for its releases, or has to be
  // told of them: while it is at work it looks for those of who runs. True if
  // a member was looked at until then.
  bool SetLooking(bool at_work);
  // Ends the leases that members have released. Whoever serves a member in
  // whose ring there is garbage is told as if it had released something.
  void TakeReleases(arena::SlotPool& pool);
  // Grows with each release and each entry that a member took, once it is seen.
  std::uint64_t Heard() const;

 private:
  // Of the members that `is` says, each once.
  template <typename Is>
  std::vector<schedule::Flow> FlowsOf(const Is& is) const;

  const proto::BatchSpec batch_;
  const Member::Forecasts forecasts_;
  std::vector<std::unique_ptr<Member>> members_;
  arena::Holder last_ = 0;
  bool was_shared_ = false;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_AUDIENCE_H_
