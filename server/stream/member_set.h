#ifndef FOREBAY_SERVER_STREAM_MEMBER_SET_H_
#define FOREBAY_SERVER_STREAM_MEMBER_SET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/arena/channel.h"
#include "server/arena/slot_pool.h"
#include "server/schedule/flow.h"
#include "server/stream/batch.h"
#include "server/stream/epoch_pair.h"
#include "server/stream/member.h"

namespace forebay::stream {

// The members of a stream. Not thread-safe: the stream guards it. Channels
// belong to the members and outlive their part. Never blocks; no errors.
class MemberSet {
 public:
  MemberSet(const BatchOptions& batch, const Member::NextUseDeps& next_use_deps)
      : batch_(batch), next_use_deps_(next_use_deps) {}

  // Members count from 1: 0 is free for the stream's own leases.
  Member& Join(arena::Channel* channel, const Member::Terms& terms);
  void Remove(arena::MemberId member);
  // Returns null if there is no such member, or it was removed.
  Member* Find(arena::MemberId member) const;
  // How soon a trainer needs the batch, as Member::UrgencyAt; 0 if the member
  // that it is made for is gone.
  std::uint64_t UrgencyOf(const Batch& batch) const;
  // The account of the member that the sample is booked to, present or gone.
  Production& ProductionOf(const PendingSample& pending);
  // The member starts an epoch, as Member::Start.
  void Start(Member& member, std::shared_ptr<const EpochPair> epochs,
             std::uint64_t first_sample, std::int64_t now_nanos);

  auto begin() const { return members_.begin(); }
  auto end() const { return members_.end(); }
  std::size_t size() const { return members_.size(); }

  // Members whose epoch is under way.
  std::size_t Running() const;
  // Whether any may still start one.
  bool AnyOpen() const;
  // Whether the stream ever had two members at once. Then more may join, and
  // read cached batches.
  bool was_shared() const { return was_shared_; }
  // The flows that the stream's work is charged to, each once.
  std::vector<schedule::Flow> Flows() const;
  // The flows of the members that will read the batch, if all of these have
  // caps; else none.
  std::vector<schedule::Flow> CappedFlows(const BatchKey& key) const;
  // The time until the first member takes the batch, as Member::NanosUntil.
  std::int64_t NanosUntil(const BatchKey& key, std::int64_t now_nanos) const;

  // Member::LookAtWait of all; returns the longest of an epoch under way.
  std::int64_t LookAtWaits();

  // The members that will read the batch within the slots that they have.
  std::vector<arena::MemberId> ReadersOf(const BatchKey& key) const;
  // Whether a member that does not stand still will read the batch.
  bool AwaitsSoon(const BatchKey& key, std::int64_t now_nanos) const;

  // Tells each member whether the stream polls its release ring, or must be
  // woken by it. While the stream works, it polls the members whose epoch is
  // under way. Returns whether it has polled any until now.
  bool SetLooking(bool at_work);
  // Ends the leases that members have released. A ring with garbage in it
  // counts as one with a release: its session finds the garbage then.
  void TakeReleases(arena::SlotPool& pool);
  // A counter of releases and taken entries that the stream has seen.
  std::uint64_t Heard() const;

 private:
  // The flows of the members for which `is` returns true, each once.
  template <typename Is>
  std::vector<schedule::Flow> FlowsOf(const Is& is) const;

  const BatchOptions batch_;
  const Member::NextUseDeps next_use_deps_;
  std::vector<std::unique_ptr<Member>> members_;
  arena::MemberId last_ = 0;
  bool was_shared_ = false;
  Production of_gone_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_MEMBER_SET_H_
