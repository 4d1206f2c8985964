#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_KEPT_CHUNKS_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_KEPT_CHUNKS_H_

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
#include "server/dataset/unpacked_cache.h"

namespace forebay::dataset::array_record {

// The records of a chunk, unpacked. Immutable; shares their bytes.
class ChunkRecords {
 public:
  explicit ChunkRecords(std::shared_ptr<const std::string> kept)
      : kept_(std::move(kept)) {}

  std::uint64_t size() const { return NumberAt(0); }
  // `place` is less than size().
  absl::Span<const std::uint8_t> At(std::uint64_t place) const;

 private:
  std::uint64_t NumberAt(std::uint64_t place) const;

  // Their number; the end of each; the records, one behind the other.
  const std::shared_ptr<const std::string> kept_;
};

// Keeps the records of chunks that have many, so that one that is read record
// by record is not unpacked for each. Keeps a chunk when it is read once more
// soon after: it costs little to find out, where samples are shuffled.
// Thread-safe, and otherwise as UnpackedCache says.
class KeptChunks {
 public:
  // Without a budget it keeps nothing.
  explicit KeptChunks(base::MemoryBudget* budget)
      : cache_(budget, kMostBytes) {}

  // Tells apart chunks by their bytes in the file.
  static Version DigestOf(absl::Span<const std::uint8_t> chunk);

  std::optional<ChunkRecords> Find(const Version& digest);
  // Takes a chunk that was not found, with all of its records.
  void Add(const Version& digest, Chunk chunk);

 private:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

  // Whether it was seen of late.
  bool WasSeen(const Version& digest);

  UnpackedCache cache_;
  base::Mutex mutex_;
  std::array<Version, 64> seen_ ABSL_GUARDED_BY(mutex_) = {};
  std::size_t next_seen_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_KEPT_CHUNKS_H_
