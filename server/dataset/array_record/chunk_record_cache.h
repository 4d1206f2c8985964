#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_CHUNK_RECORD_CACHE_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_CHUNK_RECORD_CACHE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/dataset/array_record/chunk.h"
#include "server/dataset/dataset.h"
#include "server/dataset/decompressed_cache.h"

namespace forebay::dataset::array_record {

// The decompressed records of a chunk. Immutable and thread-safe; shares
// ownership of the bytes; never blocks; has no errors.
class ChunkRecords {
 public:
  explicit ChunkRecords(std::shared_ptr<const std::string> bytes)
      : bytes_(std::move(bytes)) {}

  // Number of records.
  std::uint64_t size() const { return NumberAt(0); }
  // Returns record number `place` of the chunk, which is less than size().
  absl::Span<const std::uint8_t> At(std::uint64_t place) const;

 private:
  // Returns the number at index `place` of the u64 numbers at the start of
  // `bytes_`.
  std::uint64_t NumberAt(std::uint64_t place) const;

  // The bytes: the number of records and the end of each record (u64 each),
  // then the records back to back. Ends count from the start of the first
  // record.
  const std::shared_ptr<const std::string> bytes_;
};

// Keeps the decompressed records of some chunks, so that a chunk whose records
// are read in order is not decompressed for each record. A chunk is kept when
// it is read a second time, if its digest is still among the last 64 that were
// recorded. Where samples are shuffled, few chunks are kept, and each read
// costs only a digest more.
//
// Thread-safe; owns what it keeps. Blocks and fails as DecompressedCache does.
class ChunkRecordCache {
 public:
  // Takes its memory from `budget`. Keeps nothing if `budget` is null.
  explicit ChunkRecordCache(base::MemoryBudget* budget)
      : cache_(budget, kMostBytes) {}

  // Returns a digest of a chunk's bytes in the file, by which Find finds the
  // chunk.
  static Version DigestOf(absl::Span<const std::uint8_t> chunk);

  // Returns the records of a kept chunk, or nothing if the chunk is not kept.
  std::optional<ChunkRecords> Find(const Version& digest);
  // Keeps a chunk that Find did not find, if the chunk was read lately
  // (WasReadLately). No record may have been taken from `chunk` before.
  void Add(const Version& digest, Chunk chunk);

 private:
  // The most bytes that all kept chunks take.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

  // Returns whether `digest` is in `digests_`. Records it there if it is not.
  bool WasReadLately(const Version& digest);

  DecompressedCache cache_;
  base::Mutex mutex_;
  // The digests of the last chunks that were read and not found, as a ring.
  // next_digest_ is the index of the oldest.
  std::array<Version, 64> digests_ ABSL_GUARDED_BY(mutex_) = {};
  std::size_t next_digest_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_CHUNK_RECORD_CACHE_H_
