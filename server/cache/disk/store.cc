// How the store works.
//
// Entries that are worth storing wait, in bounded memory, for the writing
// thread. The thread appends them to the open segment in large writes, and adds
// them to the index once they can be read from the disk. A full segment gets
// its footer and is never written again.
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
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/philox.h"
#include "server/base/status.h"
#include "server/cache/disk/record_reader.h"
#include "server/cache/disk/recovery.h"
#include "server/cache/disk/segment_eviction.h"
#include "server/cache/disk/segment_format.h"
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

// Returns the memory for the index of a tier, in bytes.
std::uint64_t IndexBytesFor(std::uint64_t capacity) {
  return std::max(capacity / kIndexPart, kMinIndexBytes);
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
      deps.budget->Reserve(IndexBytesFor(chosen.capacity) +
                               chosen.waiting_bytes + kBufferBytes +
                               kCarryBytes,
                           "the index of the cache on disk"));
  std::unique_ptr<Store> store(
      new Store(chosen, std::move(volume), deps, std::move(memory)));
  FOREBAY_RETURN_IF_ERROR(store->LoadSegments());
  store->thread_ = std::thread([raw = store.get()] { raw->Work(); });
  return store;
}

std::uint64_t Store::Entry::memory() const {
  // The bytes of the Entry itself and of its place in the queue, and those that
  // the allocator adds.
  constexpr std::uint64_t kBesides = 256;
  return storage::HeldBytes(bytes.size()) + object.size() + kBesides;
}

Store::Store(const Options& options, std::unique_ptr<Volume> volume,
             const Deps& deps, base::MemoryReservation memory)
    : options_(options),
      volume_(std::move(volume)),
      deps_(deps),
      memory_(std::move(memory)),
      segment_records_(IndexBytesFor(options.capacity) / Index::kEntryBytes /
                       kSegmentsOfIndex),
      buffer_(kBufferBytes),
      carried_(kCarryBytes),
      index_(IndexBytesFor(options.capacity) / Index::kEntryBytes),
      read_breaker_(kReadFailuresTolerated),
      write_breaker_(/*tolerated=*/0) {
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

absl::Status Store::LoadSegments() {
  FOREBAY_ASSIGN_OR_RETURN(std::vector<Recovered> found,
                           Recover(*volume_, options_.capacity));
  const std::int64_t now = deps_.clock->NowNanos();
  base::MutexLock lock(&mutex_);
  for (Recovered& segment : found) {
    const Index::SegmentId id = index_.AddSegment(segment.file, now);
    for (const RecordLocation& location : segment.locations) {
      // Segments come oldest first. A record in a later one is current, and
      // replaces an earlier record of the same fingerprint.
      if (const auto older = index_.Find(location.fingerprint, {}, now))
        index_.Drop(*older);
      index_.Add(id, location, storage::SampleRef());
    }
    counted_.used += segment.file->bytes;
    next_serial_ = segment.file->serial + 1;
    if (!segment.sealed && &segment == &found.back()) {
      open_ = id;
      writer_ = std::make_unique<SegmentWriter>(
          volume_.get(), segment.file, &buffer_, std::move(segment.locations),
          segment.end);
    } else {
      index_.Seal(id);
    }
  }
  full_ = writer_ == nullptr && IsAtLimit();
  return absl::OkStatus();
}

bool Store::CanStore(const Key& key) const {
  return Fits(key) && 2 * kPageBytes + RecordBytes(key) + FooterBytes(1) <=
                          options_.segment_bytes;
}

std::optional<Index::Found> Store::Find(const Key& key,
                                        const storage::SampleRef& sample) {
  const std::int64_t now = deps_.clock->NowNanos();
  const std::uint64_t fingerprint = FingerprintOf(key);
  base::MutexLock lock(&mutex_);
  if (!read_breaker_.IsOpen(now)) {
    if (auto found = index_.Find(fingerprint, sample, now)) return found;
  }
  counted_.misses.Add(key.length);
  return std::nullopt;
}

void Store::CountMiss(const Key& key) {
  base::MutexLock lock(&mutex_);
  counted_.misses.Add(key.length);
}

absl::StatusOr<base::Bytes> Store::Read(const Index::Found& found,
                                        const Key& key,
                                        const PageBuffer& scratch,
                                        storage::BufferPool& buffers) {
  absl::StatusOr<base::Bytes> bytes =
      ReadRecord(*volume_, found, key, scratch, buffers);
  const std::int64_t now = deps_.clock->NowNanos();
  base::MutexLock lock(&mutex_);
  if (bytes.ok()) {
    read_breaker_.RecordSuccess();
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
  if (read_breaker_.RecordFailure(now_nanos)) {
    spdlog::warn("the cache on disk, {}, is not read for {} s: {}",
                 volume_->path(), read_breaker_.SecondsLeft(now_nanos),
                 std::string(status.message()));
  }
}

void Store::Insert(Entry entry) {
  const std::int64_t now = deps_.clock->NowNanos();
  const std::uint64_t length = entry.bytes.size();
  const std::uint64_t memory = entry.memory();
  const std::uint64_t fingerprint = FingerprintOf(entry.key());
  const bool is_admitted = IsAdmitted(
      TimeToNextUse(entry.sample, entry.hint_nanos, *deps_.next_use, now), now);
  base::MutexLock lock(&mutex_);
  if (index_.Has(fingerprint)) return;
  if (!is_admitted || write_breaker_.IsOpen(now) || read_breaker_.IsOpen(now) ||
      memory > options_.waiting_bytes - counted_.waiting) {
    counted_.refused.Add(length);
    return;
  }
  counted_.waiting += memory;
  waiting_.push_back(std::move(entry));
  work_or_end_.NotifyOne();
}

bool Store::IsAdmitted(std::int64_t next_use_nanos, std::int64_t now_nanos) {
  if (next_use_nanos == kNever) return false;
  {
    base::MutexLock lock(&mutex_);
    if (!full_) return true;
  }
  return next_use_nanos < AdmissionThreshold(now_nanos);
}

std::int64_t Store::AdmissionThreshold(std::int64_t now_nanos) {
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
    drawn = Draw();
  }
  const auto victim = ChooseVictim(drawn, *deps_.next_use, now_nanos);
  base::MutexLock lock(&mutex_);
  threshold_nanos_ = victim.has_value() ? victim->threshold_nanos : 0;
  return threshold_nanos_;
}

std::vector<Index::DrawnSegment> Store::Draw() {
  base::PhiloxStream random(options_.seed, ++draws_, /*sample=*/0, /*op=*/0);
  return index_.Draw(kSegmentsDrawn, kSamplesDrawn, open_, random);
}

bool Store::IsAtLimit() {
  const bool has_space =
      open_.has_value() ||
      counted_.used + options_.segment_bytes <= options_.capacity;
  return !has_space || index_.records() >= index_.capacity();
}

disk::DiskSnapshot Store::Snapshot() const {
  const std::int64_t now = deps_.clock->NowNanos();
  base::MutexLock lock(&mutex_);
  disk::DiskSnapshot snapshot = counted_;
  snapshot.off = read_breaker_.IsOpen(now) || write_breaker_.IsOpen(now);
  snapshot.entries = index_.records();
  snapshot.entry_bytes = index_.record_bytes();
  return snapshot;
}

void Store::Work() {
  pthread_setname_np(pthread_self(), "forebay-ssd-w");
  std::vector<Entry> batch;
  while (Await(&batch)) {
    std::uint64_t memory = 0;
    for (Entry& entry : batch) {
      Write(entry);
      memory += entry.memory();
      entry = Entry();  // freed before the slow writes of the others
    }
    batch.clear();
    Publish();
    base::MutexLock lock(&mutex_);
    counted_.waiting -= memory;
  }
}

bool Store::Await(std::vector<Entry>* batch) {
  base::MutexLock lock(&mutex_);
  while (waiting_.empty()) {
    if (ending_) return false;
    work_or_end_.Wait(&mutex_);
  }
  // A batch is about one write of the segment's buffer.
  for (std::uint64_t bytes = 0; bytes < kBufferBytes && !waiting_.empty();) {
    bytes += waiting_.front().bytes.size();
    batch->push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return true;
}

void Store::Write(const Entry& entry) {
  if (!MakeSpace(entry)) {
    base::MutexLock lock(&mutex_);
    counted_.refused.Add(entry.bytes.size());
    return;
  }
  const absl::Status status = writer_->Append(entry.key(), entry.bytes.span());
  if (!status.ok()) return Abandon(status);
  samples_.push_back(entry.sample);
}

bool Store::MakeSpace(const Entry& entry) {
  if (writer_ != nullptr && (!writer_->HasSpace(RecordBytes(entry.key())) ||
                             writer_->records() >= segment_records_)) {
    SealOpen();
  }
  std::optional<EvictedSegment> evicted;
  for (;;) {
    const std::int64_t now = deps_.clock->NowNanos();
    {
      base::MutexLock lock(&mutex_);
      if (write_breaker_.IsOpen(now)) return false;
      full_ = full_ || IsAtLimit();
      if (!IsAtLimit()) break;
    }
    if (!IsAdmitted(
            TimeToNextUse(entry.sample, entry.hint_nanos, *deps_.next_use, now),
            now)) {
      return false;
    }
    evicted = Evict();
    if (!evicted.has_value()) return false;
  }
  if (writer_ != nullptr) return true;
  if (!OpenSegment(&evicted)) return false;
  if (evicted.has_value()) CarryOver(*evicted, RecordBytes(entry.key()));
  return writer_ != nullptr;
}

// Creates the file of the next segment. If the disk has no space for it, resets
// `evicted`, because the space of a removed file becomes free only when the
// file is closed.
bool Store::OpenSegment(std::optional<EvictedSegment>* evicted) {
  const std::uint64_t serial = next_serial_++;
  const std::string name = SegmentName(serial);
  int fd = volume_->Create(name, options_.segment_bytes);
  // Other programs have filled the disk, so one more segment is evicted before
  // the next attempt.
  if (fd == -ENOSPC || fd == -EDQUOT) {
    evicted->reset();
    if (Evict().has_value()) {
      {
        base::MutexLock lock(&mutex_);
        full_ = false;
      }
      fd = volume_->Create(name, options_.segment_bytes);
    }
  }
  if (fd < 0) {
    WriteFailed(absl::StrCat(name, ": ", std::strerror(-fd)));
    return false;
  }
  auto file = std::make_shared<const SegmentFile>(
      SegmentFile{base::Fd(fd), serial, options_.segment_bytes});
  writer_ = std::make_unique<SegmentWriter>(
      volume_.get(), file, &buffer_, std::vector<RecordLocation>(), /*end=*/0);
  const std::int64_t now = deps_.clock->NowNanos();
  base::MutexLock lock(&mutex_);
  counted_.used += options_.segment_bytes;
  open_ = index_.AddSegment(std::move(file), now);
  return true;
}

std::optional<Store::EvictedSegment> Store::Evict() {
  std::vector<Index::DrawnSegment> drawn;
  {
    base::MutexLock lock(&mutex_);
    drawn = Draw();
  }
  // The victim still exists afterwards: only this thread removes segments.
  const auto victim =
      ChooseVictim(drawn, *deps_.next_use, deps_.clock->NowNanos());
  if (!victim.has_value()) return std::nullopt;
  EvictedSegment evicted;
  evicted.threshold_nanos = victim->threshold_nanos;
  {
    base::MutexLock lock(&mutex_);
    evicted.removed = index_.RemoveSegment(victim->segment);
    counted_.evicted.reads += evicted.removed.locations.size();
    counted_.evicted.bytes += evicted.removed.bytes;
    threshold_at_nanos_ = INT64_MIN;
  }
  RemoveFile(*evicted.removed.file);
  return evicted;
}

// Carries over records of an evicted segment into the segment that replaces it:
// at most half of the records, and at most half a segment of bytes. Leaves
// space for a record of `reserved` bytes. Carried records are misses until they
// are published.
void Store::CarryOver(const EvictedSegment& evicted, std::uint64_t reserved) {
  const Index::RemovedSegment& removed = evicted.removed;
  const std::vector<bool> chosen =
      SamplesToCarryOver(evicted.threshold_nanos, removed.samples,
                         *deps_.next_use, deps_.clock->NowNanos());
  Tally carried;
  std::uint64_t unpublished = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (!chosen[i]) continue;
    const RecordLocation& location = removed.locations[i];
    if (2 * (carried.reads + 1) > chosen.size() ||
        2 * (carried.bytes + location.bytes) > options_.segment_bytes ||
        !writer_->HasSpace(location.bytes, reserved)) {
      break;
    }
    const auto record =
        ReadWholeRecord(*volume_, {removed.file, location}, carried_);
    if (!record.ok()) {
      if (absl::IsOutOfRange(record.status())) continue;
      const std::int64_t now = deps_.clock->NowNanos();
      base::MutexLock lock(&mutex_);
      ReadFailed(record.status(), now);
      if (read_breaker_.IsOpen(now)) break;
      continue;
    }
    const absl::Status status = writer_->Append(record->key, record->data);
    if (!status.ok()) return Abandon(status);
    samples_.push_back(removed.samples[i]);
    carried.Add(location.bytes);
    unpublished += location.bytes;
    if (unpublished < kBufferBytes) continue;
    Publish();
    if (writer_ == nullptr) return;
    unpublished = 0;
  }
  Publish();
  base::MutexLock lock(&mutex_);
  counted_.carried.Add(carried);
}

void Store::RemoveFile(const SegmentFile& file) {
  const std::string name = SegmentName(file.serial);
  const int error = volume_->Remove(name);
  if (error < 0) {
    // The file's space stays counted as used.
    WriteFailed(absl::StrCat(name, ": ", std::strerror(-error)));
    return;
  }
  base::MutexLock lock(&mutex_);
  counted_.used -= file.bytes;
}

void Store::Publish() {
  if (writer_ == nullptr || samples_.empty()) return;
  const auto locations = writer_->Flush();
  if (!locations.ok()) return Abandon(locations.status());
  const std::vector<storage::SampleRef> samples = std::move(samples_);
  samples_.clear();
  base::MutexLock lock(&mutex_);
  write_breaker_.RecordSuccess();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (index_.Add(*open_, (*locations)[i], samples[i])) {
      counted_.written.Add((*locations)[i].bytes);
    }
  }
}

void Store::SealOpen() {
  Publish();
  if (writer_ == nullptr) return;
  const absl::Status status = writer_->Seal();
  if (!status.ok()) return Abandon(status);
  writer_ = nullptr;
  base::MutexLock lock(&mutex_);
  index_.Seal(*std::exchange(open_, std::nullopt));
}

// Gives up the open segment after a failed write. Its published records can
// still be read, so they remain valid. A segment without published records is
// removed.
void Store::Abandon(const absl::Status& status) {
  WriteFailed(
      std::string_view(status.message().data(), status.message().size()));
  samples_.clear();
  writer_ = nullptr;
  std::shared_ptr<const SegmentFile> empty;
  {
    base::MutexLock lock(&mutex_);
    const Index::SegmentId id = *std::exchange(open_, std::nullopt);
    if (index_.records_of(id) > 0) {
      index_.Seal(id);
      return;
    }
    empty = index_.RemoveSegment(id).file;
  }
  RemoveFile(*empty);
}

void Store::WriteFailed(std::string_view why) {
  const std::int64_t now = deps_.clock->NowNanos();
  base::MutexLock lock(&mutex_);
  ++counted_.failures;
  if (write_breaker_.RecordFailure(now)) {
    spdlog::warn("the cache on disk, {}, takes nothing new for {} s: {}",
                 volume_->path(), write_breaker_.SecondsLeft(now), why);
  }
}

}  // namespace forebay::cache::disk
