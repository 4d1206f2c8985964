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
  // Returns record number `place` of the chunk. `place` is less than size().
  absl::Span<const std::uint8_t> At(std::uint64_t place) const;

 private:
  // Returns the number at index `place` of the u64 numbers at the start of
  // `bytes_`.
  std::uint64_t NumberAt(std::uint64_t place) const;

  // The number of records (u64), the end of each record (u64 each), and the
  // records back to back. An end counts bytes from the start of the first
  // record.
  const std::shared_ptr<const std::string> bytes_;
};

// Keeps the decompressed records of some chunks. If records are read in order,
// a chunk is then not decompressed again for each of its records. A chunk is
// kept when it is read for the second time and fewer than 64 other chunks were
// read in between. If samples are shuffled, few chunks are kept, and the only
// cost is one digest for each read.
//
// Thread-safe; owns what it keeps. Blocks as DecompressedCache does. Has no
// errors.
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
  // Keeps a chunk that Find did not find, if it was read a short time ago
  // (WasReadLately). `chunk` must still be at its first record.
  void Add(const Version& digest, Chunk chunk);

 private:
  // The most bytes that all kept chunks take.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

  // Returns whether `digest` is in `digests_`. Records it there if it is not.
  bool WasReadLately(const Version& digest);

  DecompressedCache cache_;
  base::Mutex mutex_;
  // A ring of the digests of the last chunks that were read and not found.
  // next_digest_ is the index of the oldest digest.
  std::array<Version, 64> digests_ ABSL_GUARDED_BY(mutex_) = {};
  std::size_t next_digest_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_CHUNK_RECORD_CACHE_H_
