// How the store works (its writing thread is in store_writing.cc). Entries that
// are worth it wait, in bounded memory, for the writing thread. That appends
// them to the open segment in large writes, and puts them into the index when
// they are on the disk. A segment that is full gets its footer and is never
// written again. When all room is taken, a segment goes with all that is in it,
// and its file is removed before the next one is made: so the files never take
// more than the capacity. Whoever still reads a segment that goes holds its
// file open, and finds what was there: so does the writing thread itself, which
// copies what is wanted soonest into the next one (and gives that up where the
// disk has no room for both).
#include "server/cache/disk/store.h"

#include <algorithm>
#include <utility>

#include "server/base/philox.h"
#include "server/base/status.h"
#include "server/cache/disk/record_reader.h"
#include "server/cache/disk/recovery.h"
#include "server/cache/disk/segment_eviction.h"
#include "server/cache/disk/segment_format.h"
#include "spdlog/spdlog.h"

namespace forebay::cache::disk {
namespace {

// Memory for the index: full use of the capacity from 56 KiB an entry on.
constexpr std::uint64_t kIndexPart = 1024;
constexpr std::uint64_t kMinIndexBytes = std::uint64_t{256} << 10;
// However small the entries, the index has room for those of so many segments.
constexpr std::uint64_t kSegmentsOfIndex = 8;
// Where a segment that makes way is looked for.
constexpr std::size_t kSegmentsDrawn = 64;
constexpr std::size_t kSamplesDrawn = 16;
constexpr std::int64_t kBarNanos = 1'000'000'000;  // how long it holds
// A few sectors may be bad without the disk being so.
constexpr int kReadFailuresBorne = 3;

// Some hundreds of segments: few enough to keep all of them open, small enough
// that one which makes way takes little along.
std::uint64_t SegmentBytesFor(std::uint64_t capacity) {
  constexpr std::uint64_t kUsual = std::uint64_t{64} << 20;
  const std::uint64_t bytes =
      std::min(std::max(capacity / 512, kUsual),
               std::min(capacity / 8, kMaxSegmentBytes));
  return std::max(bytes / kPageBytes, std::uint64_t{4}) * kPageBytes;
}

std::uint64_t IndexBytesFor(std::uint64_t capacity) {
  return std::max(capacity / kIndexPart, kMinIndexBytes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> Store::Open(
    const Options& options, std::unique_ptr<Volume> volume,
    const Surroundings& surroundings) {
  Options chosen = options;
  if (chosen.segment_bytes == 0) {
    chosen.segment_bytes = SegmentBytesFor(chosen.capacity);
  }
  FOREBAY_ASSIGN_OR_RETURN(
      base::MemoryReservation memory,
      surroundings.budget->Reserve(IndexBytesFor(chosen.capacity) +
                                       chosen.waiting_bytes + kBufferBytes +
                                       kCarryBytes,
                                   "the index of the cache on disk"));
  std::unique_ptr<Store> store(
      new Store(chosen, std::move(volume), surroundings, std::move(memory)));
  FOREBAY_RETURN_IF_ERROR(store->TakeOver());
  store->thread_ = std::thread([raw = store.get()] { raw->Work(); });
  return store;
}

std::uint64_t Store::Entry::memory() const {
  constexpr std::uint64_t kBesides = 256;
  return storage::HeldBytes(bytes.size()) + object.size() + kBesides;
}

Store::Store(const Options& options, std::unique_ptr<Volume> volume,
             const Surroundings& surroundings, base::MemoryReservation memory)
    : options_(options),
      volume_(std::move(volume)),
      around_(surroundings),
      memory_(std::move(memory)),
      segment_records_(IndexBytesFor(options.capacity) / Index::kEntryBytes /
                       kSegmentsOfIndex),
      buffer_(kBufferBytes),
      carried_(kCarryBytes),
      index_(IndexBytesFor(options.capacity) / Index::kEntryBytes),
      reads_out_(kReadFailuresBorne),
      writes_out_(/*borne=*/0) {
  counted_.capacity = options.capacity;
}

Store::~Store() {
  if (!thread_.joinable()) return;
  {
    base::MutexLock lock(&mutex_);
    ending_ = true;
  }
  work_or_end_.NotifyAll();
  thread_.join();
}

absl::Status Store::TakeOver() {
  FOREBAY_ASSIGN_OR_RETURN(std::vector<Recovered> found,
                           Recover(*volume_, options_.capacity));
  const std::int64_t now = around_.clock->NowNanos();
  base::MutexLock lock(&mutex_);
  for (Recovered& segment : found) {
    const Index::SegmentId id = index_.AddSegment(segment.file, now);
    for (const RecordLocation& place : segment.places) {
      // Of two records of the same, the later one is true.
      if (const auto older = index_.Find(place.fingerprint, {}, now))
        index_.Drop(*older);
      index_.Add(id, place, storage::SampleRef());
    }
    counted_.used += segment.file->bytes;
    next_serial_ = segment.file->serial + 1;
    if (!segment.sealed && &segment == &found.back()) {
      open_ = id;
      writer_ = std::make_unique<SegmentWriter>(
          volume_.get(), segment.file, &buffer_, std::move(segment.places),
          segment.end);
    } else {
      index_.Seal(id);
    }
  }
  full_ = writer_ == nullptr && IsAtLimit();
  return absl::OkStatus();
}

bool Store::Takes(const Key& key) const {
  return Fits(key) && 2 * kPageBytes + RecordBytes(key) + FooterBytes(1) <=
                          options_.segment_bytes;
}

std::optional<Index::Found> Store::Find(const Key& key,
                                        const storage::SampleRef& sample) {
  const std::int64_t now = around_.clock->NowNanos();
  const std::uint64_t fingerprint = FingerprintOf(key);
  base::MutexLock lock(&mutex_);
  if (!reads_out_.IsOpen(now)) {
    if (auto found = index_.Find(fingerprint, sample, now)) return found;
  }
  counted_.misses.Add(key.length);
  return std::nullopt;
}

void Store::PassBy(const Key& key) {
  base::MutexLock lock(&mutex_);
  counted_.misses.Add(key.length);
}

absl::StatusOr<base::Bytes> Store::Read(const Index::Found& found,
                                        const Key& key,
                                        const PageBuffer& scratch,
                                        storage::BufferPool& buffers) {
  absl::StatusOr<base::Bytes> bytes =
      ReadRecord(*volume_, found, key, scratch, buffers);
  const std::int64_t now = around_.clock->NowNanos();
  base::MutexLock lock(&mutex_);
  if (bytes.ok()) {
    reads_out_.Worked();
    counted_.hits.Add(key.length);
    return bytes;
  }
  index_.Drop(found);
  counted_.misses.Add(key.length);
  ReadFailed(bytes.status(), now);
  return bytes;
}

void Store::ReadFailed(const absl::Status& status, std::int64_t now_nanos) {
  if (absl::IsNotFound(status)) return;
  if (absl::IsDataLoss(status)) {
    ++counted_.damaged;
    return;
  }
  ++counted_.failures;
  if (reads_out_.Failed(now_nanos)) {
    spdlog::warn("the cache on disk is not read for a while: {}",
                 std::string(status.message()));
  }
}

void Store::Keep(Entry entry) {
  const std::int64_t now = around_.clock->NowNanos();
  const std::uint64_t length = entry.bytes.size();
  const std::uint64_t memory = entry.memory();
  const std::uint64_t fingerprint = FingerprintOf(entry.key());
  const bool is_worth = IsWorth(
      TimeToNextUse(entry.sample, entry.told_nanos, *around_.next_use, now),
      now);
  base::MutexLock lock(&mutex_);
  if (index_.Has(fingerprint)) return;
  if (!is_worth || writes_out_.IsOpen(now) || reads_out_.IsOpen(now) ||
      memory > options_.waiting_bytes - counted_.waiting) {
    counted_.refused.Add(length);
    return;
  }
  counted_.waiting += memory;
  waiting_.push_back(std::move(entry));
  work_or_end_.NotifyOne();
}

bool Store::IsWorth(std::int64_t next_use_nanos, std::int64_t now_nanos) {
  if (next_use_nanos == kNever) return false;
  {
    base::MutexLock lock(&mutex_);
    if (!full_) return true;
  }
  return next_use_nanos < BarNow(now_nanos);
}

std::int64_t Store::BarNow(std::int64_t now_nanos) {
  std::vector<Index::Drawn> drawn;
  {
    base::MutexLock lock(&mutex_);
    if (bar_at_nanos_ != INT64_MIN && now_nanos - bar_at_nanos_ < kBarNanos) {
      return bar_nanos_;
    }
    // Who comes meanwhile goes by the one before.
    bar_at_nanos_ = now_nanos;
    drawn = Draw();
  }
  const auto victim = ChooseVictim(drawn, *around_.next_use, now_nanos);
  base::MutexLock lock(&mutex_);
  bar_nanos_ = victim.has_value() ? victim->bar_nanos : 0;
  return bar_nanos_;
}

std::vector<Index::Drawn> Store::Draw() {
  base::PhiloxStream random(options_.seed, ++draws_, /*sample=*/0, /*op=*/0);
  return index_.Draw(kSegmentsDrawn, kSamplesDrawn, open_, random);
}

bool Store::IsAtLimit() {
  const bool has_room =
      open_.has_value() ||
      counted_.used + options_.segment_bytes <= options_.capacity;
  return !has_room || index_.records() >= index_.capacity();
}

disk::Snapshot Store::Snapshot() const {
  const std::int64_t now = around_.clock->NowNanos();
  base::MutexLock lock(&mutex_);
  disk::Snapshot snapshot = counted_;
  snapshot.off = reads_out_.IsOpen(now) || writes_out_.IsOpen(now);
  snapshot.entries = index_.records();
  snapshot.entry_bytes = index_.record_bytes();
  return snapshot;
}

}  // namespace forebay::cache::disk
