#ifndef FOREBAY_SERVER_CACHE_DISK_STORE_H_
#define FOREBAY_SERVER_CACHE_DISK_STORE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "server/base/bytes.h"
#include "server/base/clock.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/cache/disk/circuit_breaker.h"
#include "server/cache/disk/disk_snapshot.h"
#include "server/cache/disk/index.h"
#include "server/cache/disk/record.h"
#include "server/cache/disk/segment_file.h"
#include "server/cache/disk/segment_writer.h"
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
  // Bytes to store, with their identity.
  struct Entry {
    // Returns the memory that the entry takes while it waits, in bytes.
    std::uint64_t memory() const;
    Key key() const { return {*root, object, version, offset, bytes.size()}; }

    std::shared_ptr<const std::string> root;  // its lasting identity
    std::string object;
    storage::ObjectVersion version;
    std::uint64_t offset = 0;
    base::Bytes bytes;
    storage::SampleRef sample;
    std::int64_t hint_nanos = INT64_MAX;  // ReadPurpose::next_use_nanos
  };

  static absl::StatusOr<std::unique_ptr<Store>> Open(
      const Options& options, std::unique_ptr<Volume> volume, const Deps& deps);
  ~Store();

  // Returns whether the bytes of `key` fit into a record, and that record into
  // a segment.
  bool CanStore(const Key& key) const;
  // Finds the record of `key` by its fingerprint alone. Counts a miss if none
  // is found.
  std::optional<Index::Found> Find(const Key& key,
                                   const storage::SampleRef& sample);
  // Counts a miss without a lookup.
  void CountMiss(const Key& key);
  // Reads a record that was found, as ReadRecord does. A record that cannot be
  // read is removed from the index.
  absl::StatusOr<base::Bytes> Read(const Index::Found& found, const Key& key,
                                   const PageBuffer& scratch,
                                   storage::BufferPool& buffers);
  // Queues an entry to be written, if it is worth storing and memory for
  // waiting entries is left.
  void Insert(Entry entry);

  disk::DiskSnapshot Snapshot() const;

 private:
  Store(const Options& options, std::unique_ptr<Volume> volume,
        const Deps& deps, base::MemoryReservation memory);

  static constexpr std::size_t kBufferBytes = std::size_t{2} << 20;
  // The bytes of the buffer for carrying over; larger records are not carried.
  static constexpr std::size_t kCarryBytes = std::size_t{1} << 20;

  // An evicted segment. Its file has been removed from the directory but is
  // still open.
  struct EvictedSegment {
    Index::RemovedSegment removed;
    std::int64_t threshold_nanos = 0;  // see SegmentVictim
  };

  // Fills the index with the records of an earlier store. Runs before the
  // writing thread is started.
  absl::Status LoadSegments();

  // The methods up to the blank line run on the writing thread. Work is the
  // body of the thread. Await waits for entries; it returns false when the
  // thread is to end.
  void Work();
  bool Await(std::vector<Entry>* batch);
  // Appends an entry to the open segment, unless there is no space for it.
  void Write(const Entry& entry);
  // Makes space for an entry in the open segment, sealing, evicting and opening
  // segments as needed. Returns false if the entry is not to be written.
  bool MakeSpace(const Entry& entry);
  // Creates the next segment, and opens it for writing.
  bool OpenSegment(std::optional<EvictedSegment>* evicted);
  // Evicts a segment and removes its file. Returns nullopt if there is no
  // segment to evict.
  std::optional<EvictedSegment> Evict();
  // Copies records that are wanted soon from an evicted segment.
  void CarryOver(const EvictedSegment& evicted, std::uint64_t reserved);
  // Flushes the open segment, and adds its new records to the index.
  void Publish();
  // Publishes and seals the open segment.
  void SealOpen();
  // Gives up the open segment after a failed write.
  void Abandon(const absl::Status& status);
  // Counts a failure, after which nothing is written for a while.
  void WriteFailed(std::string_view why);
  void RemoveFile(const SegmentFile& file);

  // Returns whether bytes that are wanted in `next_use_nanos` are worth
  // storing. A full tier stores only bytes that are wanted soon. A tier with
  // space stores all bytes that any loader may want.
  bool IsAdmitted(std::int64_t next_use_nanos, std::int64_t now_nanos);
  // Returns the threshold of the segment that would be evicted next. The
  // threshold is computed about once a second.
  std::int64_t AdmissionThreshold(std::int64_t now_nanos);
  // Draws candidates for eviction, without the open segment.
  std::vector<Index::DrawnSegment> Draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts a failed read. A failure of the disk may stop its use for a while.
  void ReadFailed(const absl::Status& status, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether the next record needs an eviction first.
  bool IsAtLimit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const std::unique_ptr<Volume> volume_;
  const Deps deps_;
  const base::MemoryReservation memory_;
  const std::uint64_t segment_records_;  // maximum for each segment

  // Only the writing thread uses these, up to the blank line.
  const PageBuffer buffer_;                  // of the open segment's writer
  const PageBuffer carried_;                 // one record
  std::unique_ptr<SegmentWriter> writer_;    // null if no segment is open
  std::vector<storage::SampleRef> samples_;  // appended but not published
  std::uint64_t next_serial_ = 1;

  mutable base::Mutex mutex_;
  base::CondVar work_or_end_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  Index index_ ABSL_GUARDED_BY(mutex_);
  std::deque<Entry> waiting_ ABSL_GUARDED_BY(mutex_);
  std::optional<Index::SegmentId> open_ ABSL_GUARDED_BY(mutex_);
  bool full_ ABSL_GUARDED_BY(mutex_) = false;
  std::int64_t threshold_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t threshold_at_nanos_ ABSL_GUARDED_BY(mutex_) = INT64_MIN;
  std::uint64_t draws_ ABSL_GUARDED_BY(mutex_) = 0;
  CircuitBreaker read_breaker_ ABSL_GUARDED_BY(mutex_);
  CircuitBreaker write_breaker_ ABSL_GUARDED_BY(mutex_);
  disk::DiskSnapshot counted_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // the last member, because it uses the others
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_STORE_H_
