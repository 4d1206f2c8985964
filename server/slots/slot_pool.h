#ifndef FOREBAY_SERVER_SLOTS_SLOT_POOL_H_
#define FOREBAY_SERVER_SLOTS_SLOT_POOL_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace forebay::slots {

// The number of a stream's member. A member is a loader, and can hold leases.
// The stream numbers its members.
using MemberId = std::uint32_t;

// The number of slots of a pool in each state.
struct SlotCounts {
  std::uint32_t free = 0;
  // Slots that a batch in flight is being written into.
  std::uint32_t filling = 0;
  // Finished slots without a lease: the batch cache holds their batches.
  std::uint32_t kept = 0;
  // Finished slots that at least one member leases.
  std::uint32_t leased = 0;
};

// The slots of one stream and the record of their leases. A slot goes free ->
// filling -> finished -> free. While it is finished, several members may lease
// it, each of them more than once. Every Take gives the slot a new generation,
// by which the release of an earlier batch in the same slot is recognised. The
// record is the daemon's own: it checks what clients say, and ends a dead
// client's leases.
//
// Not thread-safe: the stream guards the pool by its lock. Owns only the
// record; SlotMemory owns the bytes. Never blocks. No errors: a wrong state is
// a bug and ends the daemon, except where a method says otherwise.
class SlotPool {
 public:
  std::uint32_t slots() const {
    return static_cast<std::uint32_t>(slots_.size());
  }
  std::uint32_t generation(std::uint32_t slot) const {
    return slots_[slot].generation;
  }
  SlotCounts Counts() const;

  // Adds `slots` free slots behind the existing ones.
  void Add(std::uint32_t slots) { slots_.resize(slots_.size() + slots); }
  // Removes the slot with the highest number. Returns false if there is no
  // slot, or the last one is not free.
  bool RemoveLast();
  // Moves the lowest-numbered free slot to filling, under a new generation.
  // Returns nullopt if none is free.
  std::optional<std::uint32_t> Take();
  // Makes a filling slot free again: its batch was given up.
  void Abandon(std::uint32_t slot);
  // Makes a filling slot finished: its batch is complete and may be leased.
  void Finish(std::uint32_t slot);
  // Makes a finished slot without leases free.
  void Free(std::uint32_t slot);

  // Adds a lease on a slot. Returns false if the slot is not finished.
  bool Lease(std::uint32_t slot, MemberId member);
  // Whether any member has leased the slot.
  bool IsLeased(std::uint32_t slot) const {
    return !slots_[slot].holders.empty();
  }
  // Ends one lease. Returns false if `member` has no lease on this generation
  // of this slot. A client has sent `slot` and `generation`, so they may be any
  // numbers.
  bool Release(std::uint32_t slot, std::uint32_t generation, MemberId member);
  // Ends all leases of a member.
  void ReleaseAll(MemberId member);
  // The number of the member's leases.
  std::uint32_t Leases(MemberId member) const;

 private:
  enum class State { kFree, kFilling, kFinished };
  struct Slot {
    State state = State::kFree;
    std::uint32_t generation = 0;
    // The holder of each lease, in the order of leasing. A member may occur
    // more than once.
    std::vector<MemberId> holders;
  };

  static bool EndLease(Slot& slot, MemberId member);

  std::vector<Slot> slots_;
};

}  // namespace forebay::slots

#endif  // FOREBAY_SERVER_SLOTS_SLOT_POOL_H_
