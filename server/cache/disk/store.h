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

// What the tier keeps on its volume: finds it, reads it, and writes what comes
// on a thread of its own, forebay-ssd-w. What is there when it is opened is
// what an earlier one left. A disk that fails is left alone for a time: then
// nothing is found and nothing kept.
//
// Thread-safe. Owned by the tier; owns the volume; budget, oracle and clock
// outlive it. Open, destruction (which writes what waits) and Read block for
// the disk, the rest does not; no lock is held while the disk works. Errors:
// Open's (RESOURCE_EXHAUSTED, UNAVAILABLE) and Read's.
class Store {
 public:
  struct Options {
    std::uint64_t capacity = 0;  // bytes of files
    // Of memory, for what is to be written; beyond that nothing is kept.
    std::uint64_t waiting_bytes = std::uint64_t{32} << 20;
    std::uint64_t segment_bytes = 0;  // 0: as fits the capacity
    std::uint64_t seed = 0;           // of the draws for eviction
  };
  struct Surroundings {
    base::MemoryBudget* budget = nullptr;
    const NextUse* next_use = nullptr;
    const base::Clock* clock = nullptr;
  };
  // What to keep, and as what.
  struct Entry {
    std::uint64_t memory() const;  // that it takes while it waits
    Key key() const { return {*root, object, version, offset, bytes.size()}; }

    std::shared_ptr<const std::string> root;  // its lasting identity
    std::string object;
    storage::ObjectVersion version;
    std::uint64_t offset = 0;
    base::Bytes bytes;
    storage::SampleRef sample;
    std::int64_t told_nanos = INT64_MAX;  // ReadPurpose::next_use_nanos
  };

  static absl::StatusOr<std::unique_ptr<Store>> Open(
      const Options& options, std::unique_ptr<Volume> volume,
      const Surroundings& surroundings);
  ~Store();

  // Whether such bytes could be kept at all.
  bool Takes(const Key& key) const;
  // Counts a miss if it is not there.
  std::optional<Index::Found> Find(const Key& key,
                                   const storage::SampleRef& sample);
  // Counts a miss of what was not looked for.
  void PassBy(const Key& key);
  // As ReadRecord; what cannot be read is forgotten.
  absl::StatusOr<base::Bytes> Read(const Index::Found& found, const Key& key,
                                   const PageBuffer& scratch,
                                   storage::BufferPool& buffers);
  // Writes it some time later, if it is worth that. Takes its key.
  void Keep(Entry entry);

  disk::Snapshot Snapshot() const;

 private:
  Store(const Options& options, std::unique_ptr<Volume> volume,
        const Surroundings& surroundings, base::MemoryReservation memory);

  static constexpr std::size_t kBufferBytes = std::size_t{2} << 20;
  // Larger records are not written once more.
  static constexpr std::size_t kCarryBytes = std::size_t{1} << 20;

  // A segment that makes way: its file has no name any more.
  struct Leaving {
    Index::Removed removed;
    std::int64_t bar_nanos = 0;  // as SegmentVictim's
  };

  absl::Status TakeOver();

  // All below to the blank line on the writing thread.
  void Work();
  bool Await(std::vector<Entry>* batch);
  void Write(const Entry& entry);
  bool MakeRoom(const Entry& entry);
  bool OpenSegment(std::optional<Leaving>* leaving);
  std::optional<Leaving> Evict();
  void CarryOver(const Leaving& leaving, std::uint64_t reserved);
  void Publish();
  void SealOpen();
  void Abandon(const absl::Status& status);
  void WriteFailed(std::string_view why);
  void RemoveFile(const SegmentFile& file);

  // Whether it is wanted soon enough for a tier that is full.
  bool IsWorth(std::int64_t next_use_nanos, std::int64_t now_nanos);
  std::int64_t BarNow(std::int64_t now_nanos);
  std::vector<Index::Drawn> Draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadFailed(const absl::Status& status, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsAtLimit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const std::unique_ptr<Volume> volume_;
  const Surroundings around_;
  const base::MemoryReservation memory_;
  const std::uint64_t segment_records_;  // at most in one of them

  // Of the writing thread.
  const PageBuffer buffer_;
  const PageBuffer carried_;                 // one record
  std::unique_ptr<SegmentWriter> writer_;    // null: no segment is open
  std::vector<storage::SampleRef> samples_;  // appended, not published
  std::uint64_t next_serial_ = 1;

  mutable base::Mutex mutex_;
  base::CondVar work_or_end_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  Index index_ ABSL_GUARDED_BY(mutex_);
  std::deque<Entry> waiting_ ABSL_GUARDED_BY(mutex_);
  std::optional<Index::SegmentId> open_ ABSL_GUARDED_BY(mutex_);
  bool full_ ABSL_GUARDED_BY(mutex_) = false;
  std::int64_t bar_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t bar_at_nanos_ ABSL_GUARDED_BY(mutex_) = INT64_MIN;
  std::uint64_t draws_ ABSL_GUARDED_BY(mutex_) = 0;
  CircuitBreaker reads_out_ ABSL_GUARDED_BY(mutex_);
  CircuitBreaker writes_out_ ABSL_GUARDED_BY(mutex_);
  disk::Snapshot counted_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // the last: it uses the rest
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_STORE_H_
