// The store's writing thread.
#include <pthread.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/cache/disk/record_reader.h"
#include "server/cache/disk/segment_eviction.h"
#include "server/cache/disk/segment_format.h"
#include "server/cache/disk/store.h"
#include "spdlog/spdlog.h"

namespace forebay::cache::disk {

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
  // About one write.
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

// Drops the evicted segment if the disk has no space for both.
bool Store::OpenSegment(std::optional<EvictedSegment>* evicted) {
  const std::uint64_t serial = next_serial_++;
  const std::string name = SegmentName(serial);
  int fd = volume_->Create(name, options_.segment_bytes);
  // Other programs have filled the disk: evict a segment before the next
  // attempt.
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
  // Only this thread removes segments.
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

// Carries over at most half of the records, and of the bytes, of an evicted
// segment into the one that replaces it. Leaves space there for a record of
// `reserved` bytes. Carried records are misses until they are published.
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
    // Its space remains in use.
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

// Published records remain valid: they are on the disk.
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
    spdlog::warn("nothing is written to the cache on disk for a while: {}",
                 why);
  }
}

}  // namespace forebay::cache::disk
