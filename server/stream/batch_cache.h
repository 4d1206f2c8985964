#ifndef FOREBAY_SERVER_STREAM_BATCH_CACHE_H_
#define FOREBAY_SERVER_STREAM_BATCH_CACHE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/arena/slot_pool.h"
#include "server/base/memory_budget.h"
#include "server/device/device.h"
#include "server/stream/batch.h"
#include "server/stream/slot_memory.h"

namespace forebay::stream {

// A batch that was made, or that failed: then it has a status, and no slot.
struct CompletedBatch {
  BatchKey key;
  std::uint32_t slot = 0;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  std::int64_t made_nanos = 0;  // from its first request to its completion
  absl::Status status = absl::OkStatus();
  std::vector<BatchCopy> copies = {};

  // Whether a member may read it: one on that GPU, or, if null, on the host.
  const absl::Status& StatusOn(const device::Device* device) const;
};

// Owns the slots of a stream, and caches completed batches in them for members
// that read them later, until a slot is needed for another batch.
//
// Each member reserves the memory of its slots (Pay). Beyond that, slots are
// added while the budget has memory to spare, and only while as much memory
// again is left for others. The caller makes them, since that takes a while.
//
// Not thread-safe: the stream guards it. The budget outlives it. Owns the
// slots. Never blocks, but where the caller destroys the memory that Trim and
// Clear return. Errors: Pay.
class BatchCache {
 public:
  // When a batch is wanted: nanoseconds, or cache::kNever.
  using NextUse = std::function<std::int64_t(const BatchKey&)>;

  // `grows`: whether slots are added to the first ones. `lingers`: whether
  // other processes have slots mapped for a while after these were removed.
  // Then the reservations of slots are lent while these are mapped.
  BatchCache(base::MemoryBudget* budget, const SlotSize& slot_size,
             bool grows = true, bool lingers = false)
      : grows_(grows), lingers_(lingers), memory_(budget, slot_size) {}

  arena::SlotPool& pool() { return pool_; }
  const arena::SlotPool& pool() const { return pool_; }
  // For GPUs and for looking; slots are added and removed here.
  SlotMemory& memory() { return memory_; }
  const SlotMemory& memory() const { return memory_; }

  // Reserves memory for so many slots of a member, or ends that.
  // RESOURCE_EXHAUSTED.
  absl::Status Pay(std::uint32_t slots);
  void EndPay(std::uint32_t slots);

  // Whether one more slot is to be made: its memory is reserved, or, with
  // `spare`, the budget has some to spare, which Grow then reserves. The caller
  // answers each true with Grown or, for want of memory, NotGrown.
  bool Grow(bool spare);
  // As Grow, of so many slots with parts on these GPUs, if there are none and
  // none is made, and their memory is not away.
  bool GrowFirst(std::uint32_t slots,
                 const std::vector<const device::Device*>& devices);
  // Takes the reservations of so many slots that are to be made, if they are
  // lent; TakeBack returns each once no other process has the slot mapped.
  std::vector<base::MemoryReservation> TakeLent(std::uint32_t slots);
  // Leaves slots that lack a part on a GPU that was attached meanwhile.
  void Grown(std::vector<SlotParts>* slots);
  void NotGrown(std::uint32_t slots = 1);
  std::uint32_t growing() const { return growing_; }
  // Takes slots if there are none.
  void AddFirst(std::vector<SlotParts>* slots);
  // Allows new tries after NotGrown.
  void TryAgain() { stunted_ = false; }

  // Takes a free slot, to be filled. Returns nullopt if there is none.
  std::optional<std::uint32_t> Take() { return pool_.Take(); }
  // The cached batch to evict first: the one that is wanted last. Of batches
  // that no member wants, the oldest epoch's go first, and of one epoch its
  // last batch: a member that starts late begins with the first. Returns null
  // if nothing can be evicted.
  const CompletedBatch* Victim(const NextUse& next_use) const;
  // Drops the batch and frees its slot.
  void Evict(const CompletedBatch& batch);

  void Put(CompletedBatch batch);
  const CompletedBatch* Find(const BatchKey& key) const;
  // Hides the epoch's batches from Find: its order may be another one now.
  // Their slots can be evicted, those of leased batches once the leases end.
  void Forget(std::uint64_t epoch);
  // Hides the batches that do not lie on the GPU likewise.
  void ForgetUnlessOn(const device::Device* device);
  // Says that the memory of that GPU is gone.
  void ForgetCopiesOn(const device::Device* device);
  // Drops the failures that `wanted` returns false for.
  void DropFailures(const std::function<bool(const BatchKey&)>& wanted);

  // Gives back the last slots beyond those that members pay for, if they are
  // free or hold cached batches. Only while no member has an epoch under way.
  std::vector<SlotParts> Trim();
  // Gives back all slots, which are free or hold cached batches.
  std::vector<SlotParts> Clear();
  void TakeBack(base::MemoryReservation room);

  // Says whether slots stay: then none is added beyond those that members pay
  // for, and Trim removes none.
  void Keep(bool keeps) { keeps_ = keeps; }
  bool keeps() const { return keeps_; }

 private:
  // Starts to make so many slots.
  void BeginGrowing(std::uint32_t slots);
  // Slots that are gone, but that other processes have mapped.
  std::uint32_t away() const {
    return lingers_ ? memory_.lent() - pool_.slots() - growing_ : 0;
  }
  // Gives back reserved memory that neither slots nor members need.
  void Settle();
  using Completed = std::map<BatchKey, CompletedBatch>;
  // Gives the batch the key of none that there is, or drops a failure.
  Completed::iterator Hide(Completed::iterator batch);

  const bool grows_;
  const bool lingers_;
  bool keeps_ = false;
  SlotMemory memory_;
  arena::SlotPool pool_;
  Completed completed_;
  std::size_t failures_ = 0;  // of these
  std::uint32_t paid_ = 0;
  std::uint32_t growing_ = 0;
  std::vector<base::MemoryReservation> lent_;  // for TakeLent
  bool stunted_ = false;  // the last slot could not be made
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_CACHE_H_
