#ifndef FOREBAY_SERVER_STREAM_BATCH_CACHE_H_
#define FOREBAY_SERVER_STREAM_BATCH_CACHE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/base/memory_budget.h"
#include "server/device/device.h"
#include "server/slots/slot_pool.h"
#include "server/stream/batch.h"
#include "server/stream/slot_memory.h"

namespace forebay::stream {

// A batch that was made, or that failed: a failed batch has a status and no
// slot.
struct CompletedBatch {
  BatchKey key;
  std::uint32_t slot = 0;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  // The nanoseconds from the request of the first sample to completion.
  std::int64_t make_nanos = 0;
  absl::Status status = absl::OkStatus();
  std::vector<BatchCopy> copies = {};

  // Returns OK if a member may read the batch, otherwise the error that ends
  // the member's epoch. `device` is the member's GPU; null if the member is on
  // the host.
  const absl::Status& StatusOn(const device::Device* device) const;
};

// The slots of a stream, as a cache of completed batches. A batch stays for
// members that read it later, until its slot is needed for another batch.
//
// Each member reserves the memory of its slots (Pay). More slots are added only
// while the budget keeps enough free: as much as the slots that no member pays
// for take. To make slots takes a while, so this class leaves that to the
// caller. When Grow or GrowFirst has returned true, the caller makes the slots
// and then calls Grown or NotGrown.
//
// Not thread-safe: the stream guards it. The budget outlives it. Owns the
// slots. Never blocks, but the caller may block when it destroys the memory
// that Trim and Clear return. Errors: Pay.
class BatchCache {
 public:
  // Returns the nanoseconds until a batch is wanted, or cache::kNever.
  using NextUse = std::function<std::int64_t(const BatchKey&)>;

  // `grows` says whether slots may be added to the first ones. `lingers` says
  // whether other processes keep slots mapped for a while after their removal.
  // If so, each slot takes its reservation along (SlotMemory::Lend). TakeBack
  // returns the reservation once no process has the slot mapped.
  BatchCache(base::MemoryBudget* budget, const SlotSize& slot_size,
             bool grows = true, bool lingers = false)
      : grows_(grows), lingers_(lingers), memory_(budget, slot_size) {}

  slots::SlotPool& pool() { return pool_; }
  const slots::SlotPool& pool() const { return pool_; }
  // Returns the slots' memory. Callers may read it and manage its parts on
  // GPUs, but only this class adds and removes slots.
  SlotMemory& memory() { return memory_; }
  const SlotMemory& memory() const { return memory_; }

  // Reserves memory for `slots` slots of a member; EndPay gives it back.
  // RESOURCE_EXHAUSTED: the budget has no room.
  absl::Status Pay(std::uint32_t slots);
  void EndPay(std::uint32_t slots);

  // Whether the caller is to make one more slot, which growing() then counts.
  // The slot uses memory that members have reserved. If that is used up and
  // `spare` is true, Grow reserves memory that the budget has to spare. After
  // true, the caller calls Grown, or NotGrown if the slot could not be made.
  bool Grow(bool spare);
  // Whether the caller is to make the first `slots` slots, with parts on the
  // GPUs `devices`. False if there are slots, or some are being made. Also
  // false while too many reservations are lent to removed slots. After true,
  // the caller calls Grown or NotGrown.
  bool GrowFirst(std::uint32_t slots,
                 const std::vector<const device::Device*>& devices);
  // Returns the reservations of `slots` slots that are being made; none unless
  // `lingers` is true. The caller gives each to TakeBack once no other process
  // has the slot mapped.
  std::vector<base::MemoryReservation> TakeLent(std::uint32_t slots);
  // Adds slots that were made, and clears `slots`. If they lack a part on a GPU
  // that was attached meanwhile, adds none and leaves them in `slots`.
  void Grown(std::vector<SlotParts>* slots);
  // Books that `slots` slots could not be made. Grow returns false until
  // TryAgain.
  void NotGrown(std::uint32_t slots = 1);
  // Returns how many slots are being made.
  std::uint32_t growing() const { return growing_; }
  // Adds the first slots, and clears `slots`. Does nothing if there are slots
  // already.
  void AddFirst(std::vector<SlotParts>* slots);
  // Lets Grow return true again after NotGrown.
  void TryAgain() { stunted_ = false; }

  // Takes a free slot, to be filled; nullopt if there is none.
  std::optional<std::uint32_t> Take() { return pool_.Take(); }
  // Returns the cached batch to evict first: the one that is wanted latest.
  // Among batches that no member wants, the oldest epoch's are evicted first.
  // Within an epoch the last batch is evicted first, because a member that
  // starts late begins with the first. Returns null if no batch can be evicted.
  const CompletedBatch* Victim(const NextUse& next_use) const;
  // Drops the batch and frees its slot.
  void Evict(const CompletedBatch& batch);

  // Caches a batch that was completed.
  void Put(CompletedBatch batch);
  // Returns the batch of that key; null if it is not cached.
  const CompletedBatch* Find(const BatchKey& key) const;
  // Hides the epoch's batches from Find, because the epoch's order may have
  // changed. Victim still returns a hidden batch, once it is not leased.
  void Forget(std::uint64_t epoch);
  // Hides, as Forget does, the batches that have no good copy on the GPU.
  void ForgetUnlessOn(const device::Device* device);
  // Tells that the slots' parts on a GPU are gone: no batch counts as copied
  // there any more.
  void ForgetCopiesOn(const device::Device* device);
  // Drops the failed batches for which `wanted` returns false.
  void DropFailures(const std::function<bool(const BatchKey&)>& wanted);

  // Removes slots from the highest number on, down to as many as members pay
  // for. Stops at a slot that is leased or being filled. Returns the removed
  // slots. Called only while no member has an epoch under way.
  std::vector<SlotParts> Trim();
  // Removes and returns all slots. None may be leased, being filled or being
  // made.
  std::vector<SlotParts> Clear();
  // Takes back a reservation that was lent to a slot.
  void TakeBack(base::MemoryReservation room);

  // Sets whether slots stay. If so, Grow adds no slot beyond those that members
  // pay for, and Trim removes none.
  void Keep(bool keeps) { keeps_ = keeps; }
  bool keeps() const { return keeps_; }

 private:
  // Counts `slots` slots as being made.
  void BeginGrowing(std::uint32_t slots);
  // Returns the number of removed slots that other processes still have mapped.
  std::uint32_t away() const {
    return lingers_ ? memory_.lent() - pool_.slots() - growing_ : 0;
  }
  // Gives back reserved memory that neither slots nor members need.
  void Settle();
  using Completed = std::map<BatchKey, CompletedBatch>;
  // Gives the batch a key that no batch of an epoch has, or drops the batch if
  // it failed. Returns the batch after it.
  Completed::iterator Hide(Completed::iterator batch);

  const bool grows_;
  const bool lingers_;
  bool keeps_ = false;
  SlotMemory memory_;
  slots::SlotPool pool_;
  Completed completed_;
  // The number of failed batches in completed_.
  std::size_t failures_ = 0;
  // The number of slots that members pay for.
  std::uint32_t paid_ = 0;
  std::uint32_t growing_ = 0;
  // Reservations that TakeLent is to return.
  std::vector<base::MemoryReservation> lent_;
  // Whether the last try to make a slot failed.
  bool stunted_ = false;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_CACHE_H_
