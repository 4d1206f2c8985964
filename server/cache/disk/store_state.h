#ifndef FOREBAY_SERVER_CACHE_DISK_STORE_STATE_H_
#define FOREBAY_SERVER_CACHE_DISK_STORE_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/cache/disk/circuit_breaker.h"
#include "server/cache/disk/disk_snapshot.h"
#include "server/cache/disk/index.h"
#include "server/cache/disk/record.h"
#include "server/cache/disk/recovery.h"
#include "server/cache/disk/segment_file.h"
#include "server/cache/disk/store_entry.h"
#include "server/cache/next_use.h"

namespace forebay::cache::disk {

// The state that a store's callers and its writing thread share: which records
// can be found, whether the disk is used, which entries are worth storing, and
// the totals. At most one segment is open; it alone gets new records.
//
// Thread-safe. Each method is one step that others see as a whole, except
// Accepts, IsAdmitted and Evict, which lock the mutex several times. Only the
// writing thread, or the thread that opens the store, calls the methods that
// check for space or change segments. Owns the index; NextUse and the clock
// outlive it. Never blocks. No errors.
class StoreState {
 public:
  struct Options {
    std::uint64_t capacity = 0;       // bytes of files
    std::uint64_t segment_bytes = 0;  // of a segment's file
    std::uint64_t seed = 0;           // of the random draws for eviction
    std::string path;                 // of the volume, for messages
  };
  // An evicted segment, whose file is still open.
  struct EvictedSegment {
    Index::RemovedSegment removed;
    std::int64_t threshold_nanos = 0;  // see SegmentVictim
  };
  // Whether the next record can be written.
  enum class Space {
    kFree,
    kNeedsEviction,
    // The disk takes nothing for a while, because it failed.
    kDiskIsOff,
  };

  // Returns the memory for the index of a tier of `capacity` bytes, in bytes.
  static std::uint64_t IndexBytesFor(std::uint64_t capacity);

  StoreState(const Options& options, const NextUse* next_use,
             const base::Clock* clock);

  std::uint64_t segment_bytes() const { return options_.segment_bytes; }
  // Returns the maximum number of records in a segment.
  std::uint64_t segment_records() const { return segment_records_; }

  // --- Callers of the store.
  // Finds the record of `key` by its fingerprint alone. Counts a miss if none
  // is found.
  std::optional<Index::Match> Find(const Key& key,
                                   const storage::SampleRef& sample);
  // Counts a miss of `bytes` bytes without a lookup.
  void CountMiss(std::uint64_t bytes);
  // Counts the result of reading a record of `bytes` bytes. A record that could
  // not be read is removed from the index.
  void CountRead(const Index::Match& found, std::uint64_t bytes,
                 const absl::Status& status);
  // Returns whether the entry is worth storing, and the disk is used. If not,
  // counts the entry as refused, unless its record exists already.
  bool Accepts(const StoreEntry& entry);
  // Counts `bytes` bytes as refused.
  void CountRefused(std::uint64_t bytes);

  // Returns the totals; `waiting` stays 0.
  disk::DiskSnapshot Snapshot() const;

  // --- Checks before a write.
  // Returns whether the next record has space.
  Space CheckSpace();
  // Returns whether the entry is worth storing. A full tier stores only bytes
  // that are wanted soon. A tier with space stores all bytes that any loader
  // may want.
  bool IsAdmitted(const StoreEntry& entry);

  // --- Changes of segments.
  // Adds the segments of an earlier store, oldest first. If the last one is not
  // sealed, it becomes the open segment.
  void Load(absl::Span<const Recovered> segments);
  // Removes the segment to evict next from the index. The caller removes the
  // segment's file, and then calls FileRemoved. Returns nullopt if there is no
  // segment to evict.
  std::optional<EvictedSegment> Evict();
  // Adds an empty segment, which is now the open one.
  void Open(std::shared_ptr<const SegmentFile> file);
  // Adds records of the open segment, which can be read now, and the sample
  // that each belongs to.
  void Publish(absl::Span<const RecordLocation> locations,
               absl::Span<const storage::SampleRef> samples);
  // Ends the open segment, which gets no more records.
  void SealOpen();
  // Ends the open segment after a failed write. If it has no records, removes
  // it, and returns its file, which the caller removes.
  std::shared_ptr<const SegmentFile> AbandonOpen();
  // Tells that a segment's file of `bytes` bytes was removed.
  void FileRemoved(std::uint64_t bytes);
  // Tells that segments were evicted without need of the capacity, so the tier
  // counts as full no more.
  void SpaceFreed();
  // Counts records of evicted segments that were written again.
  void CountCarried(const Tally& carried);

  // Counts a failed read of an evicted record. Returns whether the disk is not
  // read for a while.
  bool CountFailedRead(const absl::Status& status);
  // Counts a failed write or removal, after which nothing is written for a
  // while.
  void CountFailedWrite(std::string_view why);

 private:
  // Counts a failed read. A failure of the disk may stop its use for a while.
  void ReadFailedLocked(const absl::Status& status, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsAdmittedAt(const StoreEntry& entry, std::int64_t now_nanos);
  // Returns the threshold of the segment that would be evicted next. The
  // threshold is computed about once a second.
  std::int64_t AdmissionThreshold(std::int64_t now_nanos);
  // Draws candidates for eviction, without the open segment.
  std::vector<Index::DrawnSegment> DrawLocked()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether the next record needs an eviction first.
  bool IsAtLimitLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const NextUse* const next_use_;
  const base::Clock* const clock_;
  const std::uint64_t segment_records_;

  mutable base::Mutex mutex_;
  Index index_ ABSL_GUARDED_BY(mutex_);
  std::optional<Index::SegmentId> open_ ABSL_GUARDED_BY(mutex_);
  bool full_ ABSL_GUARDED_BY(mutex_) = false;
  std::int64_t threshold_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t threshold_at_nanos_ ABSL_GUARDED_BY(mutex_) = INT64_MIN;
  std::uint64_t draws_ ABSL_GUARDED_BY(mutex_) = 0;
  CircuitBreaker read_breaker_ ABSL_GUARDED_BY(mutex_);
  CircuitBreaker write_breaker_ ABSL_GUARDED_BY(mutex_);
  disk::DiskSnapshot counted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_STORE_STATE_H_
