#ifndef FOREBAY_SERVER_DATASET_HDF5_CHUNK_CACHE_H_
#define FOREBAY_SERVER_DATASET_HDF5_CHUNK_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/dataset/dataset.h"
#include "server/dataset/hdf5/cursor.h"
#include "server/dataset/hdf5/filters.h"

namespace forebay::dataset::hdf5 {

// A chunk without its filters, in a room, or kept.
struct PlainChunk {
  Bytes bytes;
  std::shared_ptr<const std::string> kept;  // null if it is in a room
};

// Keeps chunks without their filters for the other rows that they have. Chunks
// are told apart by a digest of what was read, so that none is ever stale.
//
// Thread-safe. Holds a reservation for each chunk; keeps none that the budget,
// which outlives it, has no room for. Blocks only for another thread that looks
// into it. Errors: those of Unfilter.
class ChunkCache {
 public:
  // Keeps so many bytes at most. Without a budget it keeps nothing.
  ChunkCache(base::MemoryBudget* budget, std::uint64_t most_bytes)
      : budget_(budget), most_bytes_(most_bytes) {}

  // As Unfilter. Asks for the room, once at most, if it does not have the
  // chunk. Errors: also those of the room.
  absl::StatusOr<PlainChunk> Get(const std::vector<Filter>& filters,
                                 std::uint32_t mask, Bytes chunk,
                                 std::uint64_t bytes, UnpackRoom room);

 private:
  struct Entry {
    Version digest = {};
    std::shared_ptr<const std::string> plain;
    base::MemoryReservation reservation;
  };

  std::shared_ptr<const std::string> Find(const Version& digest);
  void Keep(const Version& digest, Bytes plain);

  base::MemoryBudget* const budget_;
  const std::uint64_t most_bytes_;
  base::Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // last used first
  std::uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;   // of these
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_CHUNK_CACHE_H_
