#ifndef FOREBAY_SERVER_STREAM_STOCK_H_
#define FOREBAY_SERVER_STREAM_STOCK_H_

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

// A batch that is made, or that cannot be: then it has a status, and no slot.
struct Finished {
  BatchKey key;
  std::uint32_t slot = 0;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  std::int64_t made_nanos = 0;  // how long that took
  absl::Status status = absl::OkStatus();
};

// The slots of a stream, and the finished batches that are kept in them: for
// members that come to them later, until a slot is needed for another.
//
// The memory of as many slots as the members have paid for is reserved; beyond
// that, slots are added while the budget has memory to spare, but no more than
// leave as much to whoever comes. They are made elsewhere, since that takes a
// while.
//
// Not thread-safe: the stream guards it. The budget outlives it. Owns the
// slots. Never blocks, but where memory is unmapped (Trim, and the destruction
// of what Clear returns). Errors: Pay.
class Stock {
 public:
  // When a batch is wanted: nanoseconds, or cache::kNever.
  using NextUse = std::function<std::int64_t(const BatchKey&)>;

  Stock(base::MemoryBudget* budget, std::uint64_t slot_bytes);

  arena::SlotPool& pool() { return pool_; }
  const arena::SlotPool& pool() const { return pool_; }

  // One member pays for so many slots, or ends. RESOURCE_EXHAUSTED.
  absl::Status Pay(std::uint32_t slots);
  void EndPay(std::uint32_t slots);

  // Whether one more slot is to be made: there is memory reserved for it or,
  // with `spare`, memory to spare, which is then reserved. Each one that is to
  // be made is then Grown or, for want of memory, not.
  bool Grow(bool spare);
  void Grown(std::vector<arena::SharedMemory> memory);
  void NotGrown();
  std::uint32_t growing() const { return growing_; }
  // Slots that were tried to be made, and could not, are tried again.
  void TryAgain() { stunted_ = false; }

  // A slot to be filled, which is free.
  std::optional<std::uint32_t> Take() { return pool_.Take(); }
  // The kept batch that is the first to go: the one that is wanted last. Of
  // those that nobody wants, those of the oldest epoch go first, and then the
  // last of an epoch: who starts late begins with the first. Null: there is
  // none.
  const Finished* Victim(const NextUse& next_use) const;
  // It goes, and its slot is free.
  void Evict(const Finished& batch);

  void Put(Finished batch);
  const Finished* Find(const BatchKey& key) const;
  // What is kept of the epoch is no use any more. What is leased of it goes
  // when that ends.
  void Forget(std::uint64_t epoch);
  // Drops the failures that nobody is about to come to.
  void DropFailures(const std::function<bool(const BatchKey&)>& wanted);

  // Gives back the slots at the end of the row that nobody has paid for, if
  // they are free or can be made so. Only while no member knows them.
  void Trim();
  // All slots, which are free or kept: for whom to destroy them.
  arena::SlotPool Clear();

 private:
  // Keeps no more memory reserved than there are slots for, or paid for.
  void Settle();

  base::MemoryBudget* const budget_;
  arena::SlotPool pool_;
  std::map<BatchKey, Finished> finished_;
  std::size_t failures_ = 0;  // of these
  std::uint32_t paid_ = 0;
  std::uint32_t growing_ = 0;
  bool stunted_ = false;  // a slot could not be made
  base::MemoryReservation room_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_STOCK_H_
