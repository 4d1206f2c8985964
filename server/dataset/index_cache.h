#ifndef FOREBAY_SERVER_DATASET_INDEX_CACHE_H_
#define FOREBAY_SERVER_DATASET_INDEX_CACHE_H_

#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"

namespace forebay::dataset {

// Keeps large indexes for a while after their last loader has closed them, so
// that the next loader does not have to read them again. Only the most recently
// opened indexes are kept, as many as fit a part of the memory limit. All of
// them are freed before the budget refuses a reservation.
//
// Thread-safe. Shares each index with all loaders that have it open. Blocks
// only to free indexes. Has no errors.
class IndexCache {
 public:
  // Indexes of fewer bytes are not kept: reading such an index again takes
  // milliseconds.
  static constexpr std::uint64_t kLeast = std::uint64_t{4} << 20;
  // The kept indexes take at most one eighth of the budget's limit.
  static constexpr std::uint64_t kPart = 8;

  // Registers with `budget`, which outlives this object. `now` returns the
  // nanoseconds of a monotonic clock.
  IndexCache(base::MemoryBudget* budget, std::function<std::int64_t()> now);
  ~IndexCache();
  IndexCache(const IndexCache&) = delete;
  IndexCache& operator=(const IndexCache&) = delete;

  // Keeps an index of `bytes` bytes that has just been opened. Replaces an
  // earlier index with the same `place`. A place is any text that tells
  // datasets apart.
  void Keep(std::string_view place, std::shared_ptr<const void> index,
            std::uint64_t bytes);
  // Frees the indexes that were last opened at least `idle_nanos` ago.
  void GiveUpIdle(std::int64_t idle_nanos);

 private:
  // An index that is kept, and when it was last opened.
  struct Entry {
    std::string place;
    std::shared_ptr<const void> index;
    std::uint64_t bytes = 0;
    std::int64_t opened_at_nanos = 0;
  };

  // Frees all indexes. The budget calls this when it is short of memory.
  void GiveUpAll();
  // Moves one index into `freed`. The caller destroys `freed` after it has
  // released the mutex, since freeing a large index takes long.
  void Take(std::list<Entry>::iterator entry, std::list<Entry>* freed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves the index that was opened the longest ago into `freed`.
  void TakeLast(std::list<Entry>* freed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Take(std::prev(entries_.end()), freed);
  }

  base::MemoryBudget* const budget_;
  const std::function<std::int64_t()> now_;
  base::Mutex mutex_;
  // The kept indexes, most recently opened first.
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of entries_
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_INDEX_CACHE_H_
