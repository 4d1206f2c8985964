#ifndef FOREBAY_SERVER_ARENA_SLOT_POOL_H_
#define FOREBAY_SERVER_ARENA_SLOT_POOL_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/arena/shared_memory.h"

namespace forebay::arena {

// Who can hold a lease: the members of a stream, numbered by it.
using MemberId = std::uint32_t;

struct SlotCounts {
  std::uint32_t free = 0;
  std::uint32_t filling = 0;
  std::uint32_t kept = 0;    // finished, and leased by nobody
  std::uint32_t leased = 0;  // finished, and leased
};

// The slots of one stream and the book of their leases. A slot goes free ->
// filling -> finished -> free; while it is finished it may be leased to several
// holders, again and again. The book is the daemon's own: what a client says is
// checked against it, and a dead client's leases are ended from it. Not
// thread-safe: the stream guards it; slots' memory may be written by any thread
// while filling. Owns the memory, which whoever makes it has reserved. Only
// MakeMemory blocks (see SharedMemory); errors: RESOURCE_EXHAUSTED.
class SlotPool {
 public:
  // Memory for so many slots, for Add.
  static absl::StatusOr<std::vector<SharedMemory>> MakeMemory(
      std::uint32_t slots, std::uint64_t slot_bytes);

  explicit SlotPool(std::uint64_t slot_bytes) : slot_bytes_(slot_bytes) {}

  std::uint32_t slots() const {
    return static_cast<std::uint32_t>(slots_.size());
  }
  std::uint64_t slot_bytes() const { return slot_bytes_; }
  int fd(std::uint32_t slot) const { return slots_[slot].memory.fd(); }
  std::uint8_t* data(std::uint32_t slot) const {
    return slots_[slot].memory.data();
  }
  std::uint32_t generation(std::uint32_t slot) const {
    return slots_[slot].generation;
  }
  SlotCounts Counts() const;

  // More slots, which are free.
  void Add(std::vector<SharedMemory> memory);
  // The slot of the highest number goes, if it is free.
  bool RemoveLast();
  // A free slot starts to be filled, under a new generation.
  std::optional<std::uint32_t> Take();
  // A filling slot becomes free again.
  void Abandon(std::uint32_t slot);
  // A filling slot is finished.
  void Finish(std::uint32_t slot);
  // A finished slot that nobody has leased becomes free.
  void Free(std::uint32_t slot);

  // One more lease on a finished slot; false if it is not.
  bool Lease(std::uint32_t slot, MemberId holder);
  // Whether anybody has leased it.
  bool IsLeased(std::uint32_t slot) const {
    return !slots_[slot].holders.empty();
  }
  // Ends one lease. False if `holder` has none on this generation of this slot:
  // any numbers may be passed.
  bool Release(std::uint32_t slot, std::uint32_t generation, MemberId holder);
  // Ends all leases of a holder.
  void ReleaseAll(MemberId holder);
  // How many the holder has.
  std::uint32_t Leases(MemberId holder) const;

 private:
  enum class State { kFree, kFilling, kFinished };
  struct Slot {
    SharedMemory memory;
    State state = State::kFree;
    std::uint32_t generation = 0;
    std::vector<MemberId> holders;
  };

  static bool EndLease(Slot& slot, MemberId holder);

  std::vector<Slot> slots_;
  std::uint64_t slot_bytes_;
};

}  // namespace forebay::arena

#endif  // FOREBAY_SERVER_ARENA_SLOT_POOL_H_
