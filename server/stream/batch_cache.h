#ifndef FOREBAY_SERVER_STREAM_BATCH_CACHE_H_
#define FOREBAY_SERVER_STREAM_BATCH_CACHE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/arena/shared_memory.h"
#include "server/arena/slot_pool.h"
#include "server/base/memory_budget.h"
#include "server/stream/batch.h"

namespace forebay::stream {

// A batch that was made, or that failed: then it has a status, and no slot.
struct CompletedBatch {
  BatchKey key;
  std::uint32_t slot = 0;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  std::int64_t made_nanos = 0;  // from its first request to its completion
  absl::Status status = absl::OkStatus();
};

// Owns the slots of a stream, and caches completed batches in them for members
// that read them later, until a slot is needed for another batch.
//
// Each member reserves the memory of its slots (Pay). Beyond that, slots are
// added while the budget has memory to spare, and only while as much memory
// again is left for others. The caller makes them, since that takes a while.
//
// Not thread-safe: the stream guards it. The budget outlives it. Owns the
// slots. Never blocks, but where memory is unmapped (Trim, and the destruction
// of what Clear returns). Errors: Pay.
class BatchCache {
 public:
  // When a batch is wanted: nanoseconds, or cache::kNever.
  using NextUse = std::function<std::int64_t(const BatchKey&)>;

  BatchCache(base::MemoryBudget* budget, std::uint64_t slot_bytes);

  arena::SlotPool& pool() { return pool_; }
  const arena::SlotPool& pool() const { return pool_; }

  // Reserves memory for so many slots of a member, or ends that.
  // RESOURCE_EXHAUSTED.
  absl::Status Pay(std::uint32_t slots);
  void EndPay(std::uint32_t slots);

  // Whether one more slot is to be made: its memory is reserved, or, with
  // `spare`, the budget has some to spare, which Grow then reserves. The caller
  // answers each true with Grown or, for want of memory, NotGrown.
  bool Grow(bool spare);
  void Grown(std::vector<arena::SharedMemory> memory);
  void NotGrown();
  std::uint32_t growing() const { return growing_; }
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
  // Drops the failures that `wanted` returns false for.
  void DropFailures(const std::function<bool(const BatchKey&)>& wanted);

  // Gives back the last slots beyond those that members pay for, if they are
  // free or hold cached batches. Only while no member has an epoch under way.
  void Trim();
  // Hands over all slots, which are free or hold cached batches. The caller
  // destroys them.
  arena::SlotPool Clear();

 private:
  // Gives back reserved memory that neither slots nor members need.
  void Settle();

  base::MemoryBudget* const budget_;
  arena::SlotPool pool_;
  std::map<BatchKey, CompletedBatch> completed_;
  std::size_t failures_ = 0;  // of these
  std::uint32_t paid_ = 0;
  std::uint32_t growing_ = 0;
  bool stunted_ = false;  // the last slot could not be made
  base::MemoryReservation room_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_CACHE_H_
