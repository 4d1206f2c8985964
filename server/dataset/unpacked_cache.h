#ifndef FOREBAY_SERVER_DATASET_UNPACKED_CACHE_H_
#define FOREBAY_SERVER_DATASET_UNPACKED_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/dataset/dataset.h"

namespace forebay::dataset {

// Keeps what was unpacked for the other samples that it has. It is told apart
// by a digest of what was read, so that none is ever stale. Finds it in a time
// that does not depend on how many there are.
//
// Thread-safe. Holds a reservation for each; keeps none that the budget, which
// outlives it, has no room for. Blocks only for another thread that looks into
// it. Has no errors.
class UnpackedCache {
 public:
  // Keeps so many bytes at most. Without a budget it keeps nothing.
  UnpackedCache(base::MemoryBudget* budget, std::uint64_t most_bytes)
      : budget_(budget), most_bytes_(most_bytes) {}

  // Returns null if it is not kept.
  std::shared_ptr<const std::string> Find(const Version& digest);
  // Keeps what `make` gives, which has so many bytes, if there is room and it
  // is not kept yet. Calls it at most once.
  void Keep(const Version& digest, std::uint64_t bytes,
            absl::FunctionRef<std::shared_ptr<const std::string>()> make);

 private:
  struct Entry {
    Version digest = {};
    std::shared_ptr<const std::string> unpacked;
    base::MemoryReservation reservation;
  };

  // A digest is a hash.
  struct StartOf {
    std::size_t operator()(const Version& digest) const;
  };

  // Null if it is not kept; else it was used last.
  std::shared_ptr<const std::string> FindLocked(const Version& digest)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  base::MemoryBudget* const budget_;
  const std::uint64_t most_bytes_;
  base::Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // last used first
  std::unordered_map<Version, std::list<Entry>::iterator, StartOf> by_digest_
      ABSL_GUARDED_BY(mutex_);
  std::uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of these
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_UNPACKED_CACHE_H_
