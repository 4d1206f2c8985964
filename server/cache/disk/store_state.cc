#include "server/cache/disk/store_state.h"

#include <algorithm>
#include <utility>

#include "server/base/philox.h"
#include "server/cache/disk/segment_eviction.h"
#include "spdlog/spdlog.h"

namespace forebay::cache::disk {
namespace {

// The capacity is divided by this number to get the memory for the index. An
// index entry takes 56 bytes, so records of 56 KiB or more can use all of the
// capacity. If records are smaller, the index is full before the disk is.
constexpr std::uint64_t kIndexPart = 1024;
constexpr std::uint64_t kMinIndexBytes = std::uint64_t{256} << 10;
// A segment is sealed once its records fill one eighth of the index. Even tiny
// records are thus spread over at least eight segments, which are evicted one
// by one.
constexpr std::uint64_t kSegmentsOfIndex = 8;
// How many segments are drawn as candidates for eviction, and how many samples
// of each are drawn.
constexpr std::size_t kSegmentsDrawn = 64;
constexpr std::size_t kSamplesDrawn = 16;
constexpr std::int64_t kThresholdLifetimeNanos =
    1'000'000'000;  // how long a threshold is used
// How many failed reads in a row do not stop the use of the disk: a few bad
// sectors do not make a bad disk.
constexpr int kReadFailuresTolerated = 3;

}  // namespace

std::uint64_t StoreState::IndexBytesFor(std::uint64_t capacity) {
  return std::max(capacity / kIndexPart, kMinIndexBytes);
}

StoreState::StoreState(const Options& options, const NextUse* next_use,
                       const base::Clock* clock)
    : options_(options),
      next_use_(next_use),
      clock_(clock),
      segment_records_(IndexBytesFor(options.capacity) / Index::kEntryBytes /
                       kSegmentsOfIndex),
      index_(IndexBytesFor(options.capacity) / Index::kEntryBytes),
      read_breaker_(kReadFailuresTolerated),
      write_breaker_(/*tolerated=*/0) {
  counted_.capacity = options.capacity;
}

std::optional<Index::Match> StoreState::Find(const Key& key,
                                             const storage::SampleRef& sample) {
  const std::int64_t now = clock_->NowNanos();
  const std::uint64_t fingerprint = FingerprintOf(key);
  base::MutexLock lock(&mutex_);
  if (!read_breaker_.IsOpen(now)) {
    if (auto found = index_.Find(fingerprint, sample, now)) return found;
  }
  counted_.misses.Add(key.length);
  return std::nullopt;
}

void StoreState::CountMiss(std::uint64_t bytes) {
  base::MutexLock lock(&mutex_);
  counted_.misses.Add(bytes);
}

void StoreState::CountRead(const Index::Match& found, std::uint64_t bytes,
                           const absl::Status& status) {
  const std::int64_t now = clock_->NowNanos();
  base::MutexLock lock(&mutex_);
  if (status.ok()) {
    read_breaker_.RecordSuccess();
    counted_.hits.Add(bytes);
    return;
  }
  index_.Drop(found);
  counted_.misses.Add(bytes);
  ReadFailedLocked(status, now);
}

bool StoreState::CountFailedRead(const absl::Status& status) {
  const std::int64_t now = clock_->NowNanos();
  base::MutexLock lock(&mutex_);
  ReadFailedLocked(status, now);
  return read_breaker_.IsOpen(now);
}

void StoreState::ReadFailedLocked(const absl::Status& status,
                                  std::int64_t now_nanos) {
  if (absl::IsNotFound(status)) return;
  if (absl::IsDataLoss(status)) {
    ++counted_.damaged;
    return;
  }
  ++counted_.failures;
  if (read_breaker_.RecordFailure(now_nanos)) {
    spdlog::warn("the cache on disk, {}, is not read for {} s: {}",
                 options_.path, read_breaker_.SecondsLeft(now_nanos),
                 std::string(status.message()));
  }
}

void StoreState::CountFailedWrite(std::string_view why) {
  const std::int64_t now = clock_->NowNanos();
  base::MutexLock lock(&mutex_);
  ++counted_.failures;
  if (write_breaker_.RecordFailure(now)) {
    spdlog::warn("the cache on disk, {}, takes nothing new for {} s: {}",
                 options_.path, write_breaker_.SecondsLeft(now), why);
  }
}

bool StoreState::Accepts(const StoreEntry& entry) {
  const std::int64_t now = clock_->NowNanos();
  const std::uint64_t fingerprint = FingerprintOf(entry.key());
  const bool is_admitted = IsAdmittedAt(entry, now);
  base::MutexLock lock(&mutex_);
  if (index_.Has(fingerprint)) return false;
  if (is_admitted && !write_breaker_.IsOpen(now) && !read_breaker_.IsOpen(now))
    return true;
  counted_.refused.Add(entry.bytes.size());
  return false;
}

void StoreState::CountRefused(std::uint64_t bytes) {
  base::MutexLock lock(&mutex_);
  counted_.refused.Add(bytes);
}

bool StoreState::IsAdmitted(const StoreEntry& entry) {
  return IsAdmittedAt(entry, clock_->NowNanos());
}

bool StoreState::IsAdmittedAt(const StoreEntry& entry, std::int64_t now_nanos) {
  const std::int64_t next_use_nanos =
      TimeToNextUse(entry.sample, entry.hint_nanos, *next_use_, now_nanos);
  if (next_use_nanos == kNever) return false;
  {
    base::MutexLock lock(&mutex_);
    if (!full_) return true;
  }
  return next_use_nanos < AdmissionThreshold(now_nanos);
}

std::int64_t StoreState::AdmissionThreshold(std::int64_t now_nanos) {
  std::vector<Index::DrawnSegment> drawn;
  {
    base::MutexLock lock(&mutex_);
    if (threshold_at_nanos_ != INT64_MIN &&
        now_nanos - threshold_at_nanos_ < kThresholdLifetimeNanos) {
      return threshold_nanos_;
    }
    // The time is set before the threshold is computed, so that concurrent
    // callers use the previous threshold instead of computing it too.
    threshold_at_nanos_ = now_nanos;
    drawn = DrawLocked();
  }
  const auto victim = ChooseVictim(drawn, *next_use_, now_nanos);
  base::MutexLock lock(&mutex_);
  threshold_nanos_ = victim.has_value() ? victim->threshold_nanos : 0;
  return threshold_nanos_;
}

std::vector<Index::DrawnSegment> StoreState::DrawLocked() {
  base::PhiloxStream random(options_.seed, ++draws_, /*sample=*/0, /*op=*/0);
  return index_.Draw(kSegmentsDrawn, kSamplesDrawn, open_, random);
}

bool StoreState::IsAtLimitLocked() const {
  const bool has_space =
      open_.has_value() ||
      counted_.used + options_.segment_bytes <= options_.capacity;
  return !has_space || index_.records() >= index_.capacity();
}

disk::DiskSnapshot StoreState::Snapshot() const {
  const std::int64_t now = clock_->NowNanos();
  base::MutexLock lock(&mutex_);
  disk::DiskSnapshot snapshot = counted_;
  snapshot.off = read_breaker_.IsOpen(now) || write_breaker_.IsOpen(now);
  snapshot.entries = index_.records();
  snapshot.entry_bytes = index_.record_bytes();
  return snapshot;
}

void StoreState::Load(absl::Span<const Recovered> segments) {
  const std::int64_t now = clock_->NowNanos();
  base::MutexLock lock(&mutex_);
  for (const Recovered& segment : segments) {
    const Index::SegmentId id = index_.AddSegment(segment.file, now);
    for (const RecordLocation& location : segment.locations) {
      // Segments come oldest first. A record in a later one is current, and
      // replaces an earlier record of the same fingerprint.
      if (const auto older = index_.Find(location.fingerprint, {}, now))
        index_.Drop(*older);
      index_.Add(id, location, storage::SampleRef());
    }
    counted_.used += segment.file->bytes;
    if (!segment.sealed && &segment == &segments.back()) {
      open_ = id;
    } else {
      index_.Seal(id);
    }
  }
  full_ = !open_.has_value() && IsAtLimitLocked();
}

StoreState::Space StoreState::CheckSpace() {
  const std::int64_t now = clock_->NowNanos();
  base::MutexLock lock(&mutex_);
  if (write_breaker_.IsOpen(now)) return Space::kDiskIsOff;
  if (!IsAtLimitLocked()) return Space::kFree;
  full_ = true;
  return Space::kNeedsEviction;
}

std::optional<StoreState::EvictedSegment> StoreState::Evict() {
  std::vector<Index::DrawnSegment> drawn;
  {
    base::MutexLock lock(&mutex_);
    drawn = DrawLocked();
  }
  // The victim still exists afterwards: only this thread removes segments.
  const auto victim = ChooseVictim(drawn, *next_use_, clock_->NowNanos());
  if (!victim.has_value()) return std::nullopt;
  EvictedSegment evicted;
  evicted.threshold_nanos = victim->threshold_nanos;
  base::MutexLock lock(&mutex_);
  evicted.removed = index_.RemoveSegment(victim->segment);
  counted_.evicted.reads += evicted.removed.locations.size();
  counted_.evicted.bytes += evicted.removed.bytes;
  threshold_at_nanos_ = INT64_MIN;
  return evicted;
}

void StoreState::Open(std::shared_ptr<const SegmentFile> file) {
  const std::int64_t now = clock_->NowNanos();
  base::MutexLock lock(&mutex_);
  counted_.used += options_.segment_bytes;
  open_ = index_.AddSegment(std::move(file), now);
}

void StoreState::Publish(absl::Span<const RecordLocation> locations,
                         absl::Span<const storage::SampleRef> samples) {
  base::MutexLock lock(&mutex_);
  write_breaker_.RecordSuccess();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (index_.Add(*open_, locations[i], samples[i]))
      counted_.written.Add(locations[i].bytes);
  }
}

void StoreState::SealOpen() {
  base::MutexLock lock(&mutex_);
  index_.Seal(*std::exchange(open_, std::nullopt));
}

std::shared_ptr<const SegmentFile> StoreState::AbandonOpen() {
  base::MutexLock lock(&mutex_);
  const Index::SegmentId id = *std::exchange(open_, std::nullopt);
  if (index_.records_of(id) == 0) return index_.RemoveSegment(id).file;
  index_.Seal(id);
  return nullptr;
}

void StoreState::FileRemoved(std::uint64_t bytes) {
  base::MutexLock lock(&mutex_);
  counted_.used -= bytes;
}

void StoreState::SpaceFreed() {
  base::MutexLock lock(&mutex_);
  full_ = false;
}

void StoreState::CountCarried(const Tally& carried) {
  base::MutexLock lock(&mutex_);
  counted_.carried.Add(carried);
}

}  // namespace forebay::cache::disk
