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
#include "server/cache/disk/index.h"
#include "server/cache/disk/record.h"
#include "server/cache/disk/segment_file.h"
#include "server/cache/disk/segment_writer.h"
#include "server/cache/disk/snapshot.h"
#include "server/cache/disk/volume.h"
#include "server/cache/next_use.h"
#include "server/storage/buffer_pool.h"

namespace forebay::cache::disk {

// The tier's records on its volume: finds and reads them, and writes new ones
// on a thread of its own, forebay-ssd-w. Open recovers what an earlier store
// left. If the disk fails, the store finds and accepts nothing for a while.
//
// Thread-safe. Owned by the tier; owns the volume. The budget, NextUse and the
// clock outlive it. Open, Read and the destructor, which writes the waiting
// entries, block for the disk; all else does not. No lock is held while the
// disk works. Open returns RESOURCE_EXHAUSTED or UNAVAILABLE; errors of Read
// are its own.
class Store {
 public:
  struct Options {
    std::uint64_t capacity = 0;  // of files
    // Of memory for entries to be written. Entries beyond that are refused.
    std::uint64_t waiting_bytes = std::uint64_t{32} << 20;
    std::uint64_t segment_bytes = 0;  // 0: chosen by the capacity
    std::uint64_t seed = 0;           // of the random draws for eviction
  };
  struct Deps {
    base::MemoryBudget* budget = nullptr;
    const NextUse* next_use = nullptr;
    const base::Clock* clock = nullptr;
  };
  // Bytes to store, with their identity.
  struct Entry {
    std::uint64_t memory() const;  // while it waits
    Key key() const { return {*root, object, version, offset, bytes.size()}; }

    std::shared_ptr<const std::string> root;  // its lasting identity
    std::string object;
    storage::ObjectVersion version;
    std::uint64_t offset = 0;
    base::Bytes bytes;
    storage::SampleRef sample;
    std::int64_t hint_nanos = INT64_MAX;  // as ReadPurpose::next_use_nanos
  };

  static absl::StatusOr<std::unique_ptr<Store>> Open(
      const Options& options, std::unique_ptr<Volume> volume, const Deps& deps);
  ~Store();

  // Returns whether a record can hold such bytes.
  bool CanStore(const Key& key) const;
  // Counts a miss if it finds nothing.
  std::optional<Index::Found> Find(const Key& key,
                                   const storage::SampleRef& sample);
  // Counts a miss without a lookup.
  void CountMiss(const Key& key);
  // Like ReadRecord. Removes from the index what it cannot read.
  absl::StatusOr<base::Bytes> Read(const Index::Found& found, const Key& key,
                                   const PageBuffer& scratch,
                                   storage::BufferPool& buffers);
  // Writes the entry later, if it is worth that. Takes the entry's key.
  void Insert(Entry entry);

  disk::Snapshot Snapshot() const;

 private:
  Store(const Options& options, std::unique_ptr<Volume> volume,
        const Deps& deps, base::MemoryReservation memory);

  static constexpr std::size_t kBufferBytes = std::size_t{2} << 20;
  // Larger records are not carried over.
  static constexpr std::size_t kCarryBytes = std::size_t{1} << 20;

  // An evicted segment: its file has no name any more.
  struct EvictedSegment {
    Index::RemovedSegment removed;
    std::int64_t threshold_nanos = 0;  // as in SegmentVictim
  };

  absl::Status LoadSegments();

  // The methods up to the blank line run on the writing thread.
  void Work();
  bool Await(std::vector<Entry>* batch);
  void Write(const Entry& entry);
  bool MakeSpace(const Entry& entry);
  bool OpenSegment(std::optional<EvictedSegment>* evicted);
  std::optional<EvictedSegment> Evict();
  void CarryOver(const EvictedSegment& evicted, std::uint64_t reserved);
  void Publish();
  void SealOpen();
  void Abandon(const absl::Status& status);
  void WriteFailed(std::string_view why);
  void RemoveFile(const SegmentFile& file);

  // Returns whether it is wanted soon enough, if the tier is full.
  bool IsAdmitted(std::int64_t next_use_nanos, std::int64_t now_nanos);
  std::int64_t AdmissionThreshold(std::int64_t now_nanos);
  std::vector<Index::DrawnSegment> Draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadFailed(const absl::Status& status, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsAtLimit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const std::unique_ptr<Volume> volume_;
  const Deps deps_;
  const base::MemoryReservation memory_;
  const std::uint64_t segment_records_;  // maximum for each segment

  // Used only by the writing thread.
  const PageBuffer buffer_;
  const PageBuffer carried_;                 // one record
  std::unique_ptr<SegmentWriter> writer_;    // null: no segment is open
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
  disk::Snapshot counted_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // the last member, because it uses the others
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_STORE_H_
