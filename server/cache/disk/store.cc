// How the store works.
//
// Entries that are worth storing (StoreState) wait, in bounded memory
// (EntryQueue), for the writing thread. The thread appends them to the open
// segment in large writes (EntryWriter), and adds them to the index once they
// can be read from the disk. A full segment gets its footer and is never
// written again.
//
// At the capacity, a segment is evicted with all of its records. Its file is
// removed before the next one is created, so the files never exceed the
// capacity. Readers of an evicted segment have its file open and can still read
// it. The writing thread can too: it carries the samples that are wanted
// soonest over into the next segment. If the disk has no space for both files,
// nothing is carried over.
//
// Nothing depends on the order of writes. A crash loses the entries that wait,
// and the footer of the open segment, whose records are found by a scan.
#include "server/cache/disk/store.h"

#include <pthread.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "server/base/start_thread.h"
#include "server/base/status.h"
#include "server/cache/disk/record_reader.h"
#include "server/cache/disk/recovery.h"
#include "server/cache/disk/segment_format.h"

namespace forebay::cache::disk {
namespace {

// Returns a segment's size in bytes. A large tier gets several hundred
// segments: few enough to keep all of them open, and so small that evicting one
// loses little. A small tier gets at least 8 segments.
std::uint64_t SegmentBytesFor(std::uint64_t capacity) {
  constexpr std::uint64_t kUsual = std::uint64_t{64} << 20;
  const std::uint64_t bytes =
      std::min(std::max(capacity / 512, kUsual),
               std::min(capacity / 8, kMaxSegmentBytes));
  return std::max(bytes / kPageBytes, std::uint64_t{4}) * kPageBytes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> Store::Open(
    const Options& options, std::unique_ptr<Volume> volume, const Deps& deps) {
  Options chosen = options;
  if (chosen.segment_bytes == 0) {
    chosen.segment_bytes = SegmentBytesFor(chosen.capacity);
  }
  FOREBAY_ASSIGN_OR_RETURN(
      base::MemoryReservation memory,
      deps.budget->Reserve(
          StoreState::IndexBytesFor(chosen.capacity) + chosen.waiting_bytes +
              EntryWriter::kBufferBytes + EntryWriter::kCarryBytes,
          "the index of the cache on disk"));
  std::unique_ptr<Store> store(
      new Store(chosen, std::move(volume), deps, std::move(memory)));
  FOREBAY_RETURN_IF_ERROR(store->LoadSegments(chosen.capacity));
  store->thread_ = base::StartThread([raw = store.get()] { raw->Work(); });
  if (!store->thread_.joinable()) {
    return absl::ResourceExhaustedError(
        "the system gives the daemon no thread to write the cache on disk: "
        "raise the limit on threads (ulimit -u, or pids.max of the cgroup)");
  }
  return store;
}

Store::Store(const Options& options, std::unique_ptr<Volume> volume,
             const Deps& deps, base::MemoryReservation memory)
    : volume_(std::move(volume)),
      memory_(std::move(memory)),
      state_({.capacity = options.capacity,
              .segment_bytes = options.segment_bytes,
              .seed = options.seed,
              .path = volume_->path()},
             deps.next_use, deps.clock),
      queue_(options.waiting_bytes),
      writer_(volume_.get(), deps.next_use, deps.clock, &state_) {}

Store::~Store() {
  if (!thread_.joinable()) return;
  queue_.End();
  thread_.join();
}

absl::Status Store::LoadSegments(std::uint64_t capacity) {
  FOREBAY_ASSIGN_OR_RETURN(std::vector<Recovered> found,
                           Recover(*volume_, capacity));
  state_.Load(found);
  if (!found.empty()) writer_.Continue(std::move(found.back()));
  return absl::OkStatus();
}

bool Store::CanStore(const Key& key) const {
  return Fits(key) && 2 * kPageBytes + RecordBytes(key) + FooterBytes(1) <=
                          state_.segment_bytes();
}

absl::StatusOr<base::Bytes> Store::Read(const Index::Match& found,
                                        const Key& key,
                                        const PageBuffer& scratch,
                                        storage::BufferPool& buffers) {
  absl::StatusOr<base::Bytes> bytes =
      ReadRecord(*volume_, found, key, scratch, buffers);
  state_.CountRead(found, key.length, bytes.status());
  return bytes;
}

void Store::Insert(StoreEntry entry) {
  if (!state_.Accepts(entry)) return;
  const std::uint64_t length = entry.bytes.size();
  if (!queue_.Push(std::move(entry))) state_.CountRefused(length);
}

disk::DiskSnapshot Store::Snapshot() const {
  // The queue is read first, so that the totals include each entry that had
  // left the queue.
  const std::uint64_t waiting = queue_.memory();
  disk::DiskSnapshot snapshot = state_.Snapshot();
  snapshot.waiting = waiting;
  return snapshot;
}

void Store::Work() {
  pthread_setname_np(pthread_self(), "forebay-ssd-w");
  std::vector<StoreEntry> batch;
  // A batch is about one write of the segment's buffer.
  while (queue_.Await(EntryWriter::kBufferBytes, &batch)) {
    std::uint64_t memory = 0;
    for (StoreEntry& entry : batch) {
      writer_.Write(entry);
      memory += entry.memory();
      entry = StoreEntry();  // freed before the slow writes of the others
    }
    batch.clear();
    writer_.Publish();
    queue_.Written(memory);
  }
}

}  // namespace forebay::cache::disk
