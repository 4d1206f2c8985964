#ifndef FOREBAY_SERVER_DATASET_DECOMPRESSED_CACHE_H_
#define FOREBAY_SERVER_DATASET_DECOMPRESSED_CACHE_H_

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

// Keeps decompressed chunks, so that a chunk is not decompressed again for each
// sample that lies in it. A chunk is identified by a digest of its compressed
// bytes, so an entry is never stale. Lookup takes constant time. The least
// recently used entries are evicted first.
//
// Thread-safe. Each entry holds a reservation of the budget; if the budget has
// no room, the chunk is not kept. The budget outlives the cache. Blocks only
// while another thread uses the cache. Has no errors.
class DecompressedCache {
 public:
  // Keeps at most `most_bytes` bytes. Without a budget the cache keeps nothing.
  DecompressedCache(base::MemoryBudget* budget, std::uint64_t most_bytes)
      : budget_(budget), most_bytes_(most_bytes) {}

  // Returns the decompressed chunk whose compressed bytes have the digest
  // `digest`. Returns null if the chunk is not kept.
  std::shared_ptr<const std::string> Find(const Version& digest);
  // Keeps the decompressed chunk that `make` returns, which has `bytes` bytes.
  // Does not call `make` if the digest has an entry already, or if there is no
  // room.
  void Keep(const Version& digest, std::uint64_t bytes,
            absl::FunctionRef<std::shared_ptr<const std::string>()> make);

 private:
  // A chunk that is kept, and the memory reserved for it.
  struct Entry {
    Version digest = {};
    std::shared_ptr<const std::string> decompressed;
    base::MemoryReservation reservation;
  };

  // Hashes a digest to its first bytes, which are uniformly distributed.
  struct StartOf {
    std::size_t operator()(const Version& digest) const;
  };

  // Returns the chunk of `digest` and moves its entry to the front. Returns
  // null if there is no such entry.
  std::shared_ptr<const std::string> FindLocked(const Version& digest)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  base::MemoryBudget* const budget_;
  const std::uint64_t most_bytes_;
  base::Mutex mutex_;
  // The chunks that are kept, most recently used first.
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<Version, std::list<Entry>::iterator, StartOf> by_digest_
      ABSL_GUARDED_BY(mutex_);
  std::uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // bytes of all chunks
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_DECOMPRESSED_CACHE_H_
