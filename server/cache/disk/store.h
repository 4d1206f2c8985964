#ifndef FOREBAY_SERVER_CACHE_DISK_STORE_H_
#define FOREBAY_SERVER_CACHE_DISK_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>

#include "absl/status/statusor.h"
#include "server/base/bytes.h"
#include "server/base/clock.h"
#include "server/base/memory_budget.h"
#include "server/cache/disk/disk_snapshot.h"
#include "server/cache/disk/entry_queue.h"
#include "server/cache/disk/entry_writer.h"
#include "server/cache/disk/index.h"
#include "server/cache/disk/record.h"
#include "server/cache/disk/store_entry.h"
#include "server/cache/disk/store_state.h"
#include "server/cache/disk/volume.h"
#include "server/cache/next_use.h"
#include "server/storage/buffer_pool.h"

namespace forebay::cache::disk {

// The tier's records on its volume. The store finds and reads them, and writes
// new ones on a thread of its own, forebay-ssd-w. Open recovers what an earlier
// store left. If the disk fails, the store finds and accepts nothing for a
// while.
//
// Thread-safe. The tier owns the store, which owns the volume. The budget,
// NextUse and the clock outlive it. Open, Read and the destructor, which writes
// the waiting entries, block for the disk; all other methods do not. No lock is
// held while the disk works. Open returns RESOURCE_EXHAUSTED or UNAVAILABLE;
// Read's errors are those of ReadRecord.
class Store {
 public:
  struct Options {
    std::uint64_t capacity = 0;  // bytes of files
    // The bytes of memory for entries that wait to be written. Entries that
    // would exceed them are refused.
    std::uint64_t waiting_bytes = std::uint64_t{32} << 20;
    // The bytes of a segment's file. If 0, they are derived from `capacity`.
    std::uint64_t segment_bytes = 0;
    std::uint64_t seed = 0;  // of the random draws for eviction
  };
  struct Deps {
    base::MemoryBudget* budget = nullptr;
    const NextUse* next_use = nullptr;
    const base::Clock* clock = nullptr;
  };

  static absl::StatusOr<std::unique_ptr<Store>> Open(
      const Options& options, std::unique_ptr<Volume> volume, const Deps& deps);
  ~Store();

  // Returns whether the bytes of `key` fit into a record, and that record into
  // a segment.
  bool CanStore(const Key& key) const;
  // Finds the record of `key` by its fingerprint alone. Counts a miss if none
  // is found.
  std::optional<Index::Match> Find(const Key& key,
                                   const storage::SampleRef& sample) {
    return state_.Find(key, sample);
  }
  // Counts a miss without a lookup.
  void CountMiss(const Key& key) { state_.CountMiss(key.length); }
  // Reads a record that was found, as ReadRecord does. A record that cannot be
  // read is removed from the index.
  absl::StatusOr<base::Bytes> Read(const Index::Match& found, const Key& key,
                                   const PageBuffer& scratch,
                                   storage::BufferPool& buffers);
  // Queues an entry to be written, if it is worth storing and memory for
  // waiting entries is left.
  void Insert(StoreEntry entry);

  disk::DiskSnapshot Snapshot() const;

 private:
  Store(const Options& options, std::unique_ptr<Volume> volume,
        const Deps& deps, base::MemoryReservation memory);

  // Recovers the records of an earlier store. Runs before the writing thread is
  // started.
  absl::Status LoadSegments(std::uint64_t capacity);
  // The body of the writing thread.
  void Work();

  const std::unique_ptr<Volume> volume_;
  const base::MemoryReservation memory_;
  StoreState state_;
  EntryQueue queue_;
  // Used by the writing thread alone.
  EntryWriter writer_;

  std::thread thread_;  // the last member, because it uses the others
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_STORE_H_
