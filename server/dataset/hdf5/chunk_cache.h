#ifndef FOREBAY_SERVER_DATASET_HDF5_CHUNK_CACHE_H_
#define FOREBAY_SERVER_DATASET_HDF5_CHUNK_CACHE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/dataset/hdf5/cursor.h"
#include "server/dataset/hdf5/filters.h"
#include "server/dataset/unpacked_cache.h"

namespace forebay::dataset::hdf5 {

// A chunk without its filters, in a room, or kept.
struct PlainChunk {
  Bytes bytes;
  std::shared_ptr<const std::string> kept;  // null if it is in a room
};

// Keeps chunks without their filters for the other rows that they have, if they
// have any. As UnpackedCache says. Errors: those of Unfilter.
class ChunkCache {
 public:
  // Keeps so many bytes at most. Without a budget it keeps nothing.
  ChunkCache(base::MemoryBudget* budget, std::uint64_t most_bytes)
      : cache_(budget, most_bytes) {}

  // As Unfilter, of a chunk of so many rows. Asks for the room, once at most,
  // if it does not have the chunk. Errors: also those of the room.
  absl::StatusOr<PlainChunk> Get(const std::vector<Filter>& filters,
                                 std::uint32_t mask, Bytes chunk,
                                 std::uint64_t bytes, std::uint64_t rows,
                                 UnpackRoom room);

 private:
  UnpackedCache cache_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_CHUNK_CACHE_H_
