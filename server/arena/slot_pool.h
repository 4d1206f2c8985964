#ifndef FOREBAY_SERVER_ARENA_SLOT_POOL_H_
#define FOREBAY_SERVER_ARENA_SLOT_POOL_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace forebay::arena {

// A member of a stream, which can hold leases. The stream numbers its members.
using MemberId = std::uint32_t;

struct SlotCounts {
  std::uint32_t free = 0;
  std::uint32_t filling = 0;
  std::uint32_t kept = 0;    // finished, and not leased
  std::uint32_t leased = 0;  // finished, and leased
};

// The slots of one stream and the record of their leases. A slot goes free ->
// filling -> finished -> free. While it is finished, several members may lease
// it, again and again. The record is the daemon's own: it checks what clients
// say, and ends a dead client's leases.
//
// Not thread-safe: the stream guards it, and the slots' memory. Never blocks;
// no errors.
class SlotPool {
 public:
  std::uint32_t slots() const {
    return static_cast<std::uint32_t>(slots_.size());
  }
  std::uint32_t generation(std::uint32_t slot) const {
    return slots_[slot].generation;
  }
  SlotCounts Counts() const;

  // Adds so many slots, which are free.
  void Add(std::uint32_t slots) { slots_.resize(slots_.size() + slots); }
  // Removes the slot of the highest number. Returns false if there is none, or
  // it is not free.
  bool RemoveLast();
  // Starts to fill a free slot, under a new generation. Returns nullopt if none
  // is free.
  std::optional<std::uint32_t> Take();
  // Makes a filling slot free again.
  void Abandon(std::uint32_t slot);
  // Makes a filling slot finished.
  void Finish(std::uint32_t slot);
  // Makes a finished slot without leases free.
  void Free(std::uint32_t slot);

  // Adds a lease on a slot. Returns false if it is not finished.
  bool Lease(std::uint32_t slot, MemberId member);
  // Whether any member has leased the slot.
  bool IsLeased(std::uint32_t slot) const {
    return !slots_[slot].holders.empty();
  }
  // Ends one lease. Returns false if `member` has none on this generation of
  // this slot. Any numbers may be passed.
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
    std::vector<MemberId> holders;
  };

  static bool EndLease(Slot& slot, MemberId member);

  std::vector<Slot> slots_;
};

}  // namespace forebay::arena

#endif  // FOREBAY_SERVER_ARENA_SLOT_POOL_H_
