#ifndef FOREBAY_SERVER_DATASET_KEPT_INDEXES_H_
#define FOREBAY_SERVER_DATASET_KEPT_INDEXES_H_

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

// Keeps large indexes for a while after the last loader that had them open, so
// that the next one need not read them. The most recently opened ones are kept,
// as far as they take no more than a part of the memory. All are given up when
// a reservation would find no room.
//
// Thread-safe. Shares the indexes with all that have them open. Never blocks,
// but for freeing what it gives up. Has no errors.
class KeptIndexes {
 public:
  // Bytes. Smaller ones are read in no time.
  static constexpr std::uint64_t kLeast = std::uint64_t{4} << 20;
  // At most this part of the budget is kept.
  static constexpr std::uint64_t kPart = 8;

  // The budget outlives it. `now`: nanoseconds by a clock that nobody sets
  // back.
  KeptIndexes(base::MemoryBudget* budget, std::function<std::int64_t()> now);
  ~KeptIndexes();
  KeptIndexes(const KeptIndexes&) = delete;
  KeptIndexes& operator=(const KeptIndexes&) = delete;

  // Keeps an index of so many bytes, which has just been opened, instead of an
  // earlier one of that place.
  void Keep(std::string_view place, std::shared_ptr<const void> index,
            std::uint64_t bytes);
  // Gives up those that were not opened for so long.
  void GiveUpIdle(std::int64_t idle_nanos);

 private:
  struct Kept {
    std::string place;
    std::shared_ptr<const void> index;
    std::uint64_t bytes = 0;
    std::int64_t opened_at_nanos = 0;
  };

  void GiveUpAll();
  // Moves one into `freed`, which is to be freed without the mutex.
  void Take(std::list<Kept>::iterator kept, std::list<Kept>* freed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeLast(std::list<Kept>* freed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Take(std::prev(kept_.end()), freed);
  }

  base::MemoryBudget* const budget_;
  const std::function<std::int64_t()> now_;
  base::Mutex mutex_;
  // The most recently opened one comes first.
  std::list<Kept> kept_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of all
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_KEPT_INDEXES_H_
