#ifndef FOREBAY_SERVER_STREAM_MEMBER_SET_H_
#define FOREBAY_SERVER_STREAM_MEMBER_SET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "proto/counters.pb.h"
#include "server/schedule/flow.h"
#include "server/slots/channel.h"
#include "server/slots/slot_pool.h"
#include "server/stream/batch.h"
#include "server/stream/epoch_pair.h"
#include "server/stream/member.h"

namespace forebay::stream {

// The members of a stream.
//
// Not thread-safe: the stream guards it. Owns the Members; the channels belong
// to the loaders and outlive their membership. Never blocks. No errors.
class MemberSet {
 public:
  MemberSet(const BatchOptions& batch, const Member::NextUseDeps& next_use_deps)
      : batch_(batch), next_use_deps_(next_use_deps) {}

  // Adds a member. Numbers begin with 1: 0 is left for the stream's own leases.
  Member& Join(slots::Channel* channel, const Member::Terms& terms);
  void Remove(slots::MemberId member);
  // Returns the member; null if it was removed or never existed.
  Member* Find(slots::MemberId member) const;
  // Returns the urgency of the batch for the member that it is made for
  // (Member::UrgencyAt); 0 if that member is gone.
  std::uint64_t UrgencyOf(const Batch& batch) const;
  // Returns the counters of the member that the sample is booked to. Members
  // that are gone share theirs.
  proto::LoaderCounters& CountersOf(const PendingSample& pending);
  // Starts an epoch of the member (Member::Start).
  void Start(Member& member, std::shared_ptr<const EpochPair> epochs,
             std::uint64_t first_sample, std::int64_t now_nanos);

  auto begin() const { return members_.begin(); }
  auto end() const { return members_.end(); }
  std::size_t size() const { return members_.size(); }

  // Returns the number of members whose epoch is under way.
  std::size_t Running() const;
  // Whether any member may still start an epoch.
  bool AnyOpen() const;
  // Whether two members ever had epochs under way at the same time. If so, more
  // may join and read cached batches.
  bool was_shared() const { return was_shared_; }
  // Returns the flows of the members whose epoch is under way, each once. The
  // stream's work is charged to them.
  std::vector<schedule::Flow> Flows() const;
  // Returns the flows of the members that will read the batch, if all those
  // members have caps; otherwise none.
  std::vector<schedule::Flow> CappedFlows(const BatchKey& key) const;
  // Returns the nanoseconds until the first member takes the batch
  // (Member::NanosUntil).
  std::int64_t NanosUntil(const BatchKey& key, std::int64_t now_nanos) const;

  // Calls Member::LookAtWait of all members. Returns the longest wait of a
  // member whose epoch is under way, in nanoseconds.
  std::int64_t LookAtWaits();

  // Returns the members that will read the batch soon. The batch is at most as
  // many batches ahead of each member as the member has slots.
  std::vector<slots::MemberId> ReadersOf(const BatchKey& key) const;
  // Whether a member that does not stand still will read the batch.
  bool AwaitsSoon(const BatchKey& key, std::int64_t now_nanos) const;

  // Tells each client whether the stream polls its release ring or must be
  // woken. While the stream works (`at_work`), it polls the members whose epoch
  // is under way. Returns whether it has ceased to poll any member.
  bool SetLooking(bool at_work);
  // Ends the leases that members have released. If a ring has impossible
  // values, wakes its session, which finds the error itself.
  void TakeReleases(slots::SlotPool& pool);
  // Returns a number that changes whenever the stream sees a release or a taken
  // entry.
  std::uint64_t Heard() const;

 private:
  // Returns the flows of the members for which `is` returns true, each once.
  template <typename Is>
  std::vector<schedule::Flow> FlowsOf(const Is& is) const;

  const BatchOptions batch_;
  const Member::NextUseDeps next_use_deps_;
  std::vector<std::unique_ptr<Member>> members_;
  slots::MemberId last_ = 0;
  bool was_shared_ = false;
  proto::LoaderCounters of_gone_;  // of members that are gone
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_MEMBER_SET_H_
