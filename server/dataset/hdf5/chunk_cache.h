#ifndef FOREBAY_SERVER_DATASET_HDF5_CHUNK_CACHE_H_
#define FOREBAY_SERVER_DATASET_HDF5_CHUNK_CACHE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/dataset/decompressed_cache.h"
#include "server/dataset/hdf5/byte_cursor.h"
#include "server/dataset/hdf5/filters.h"

namespace forebay::dataset::hdf5 {

// A chunk whose filters were undone. Its bytes are in the caller's output
// buffer or in the cache.
struct PlainChunk {
  Bytes bytes;
  // Owner of bytes that are in the cache; null if they are in the output
  // buffer.
  std::shared_ptr<const std::string> owner;
};

// Undoes the filters of chunks, and caches the results for other rows of the
// same chunks. A chunk with only one row is not cached. The key of an entry is
// a digest of the chunk's bytes in the file, so that no entry is ever stale.
//
// Thread-safe. Owns the cached chunks, with a reservation for each. Blocks only
// while another thread uses the cache. Errors: those of Unfilter and of the
// caller's buffer.
class ChunkCache {
 public:
  // Caches at most `most_bytes` bytes, or nothing if `budget` is null.
  ChunkCache(base::MemoryBudget* budget, std::uint64_t most_bytes)
      : cache_(budget, most_bytes) {}

  // Undoes the filters of `chunk` as Unfilter does. Without filters, the chunk
  // has `bytes` bytes and `rows` rows. `room` gives the output buffer; it is
  // called at most once, and only if the chunk is not in the cache.
  absl::StatusOr<PlainChunk> Get(const std::vector<ChunkFilter>& filters,
                                 std::uint32_t mask, Bytes chunk,
                                 std::uint64_t bytes, std::uint64_t rows,
                                 DecompressionRoom room);

 private:
  DecompressedCache cache_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_CHUNK_CACHE_H_
