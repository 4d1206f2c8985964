// What the store's writing thread does.
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
      entry = Entry();  // the disk may take its time for the others
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
  if (!MakeRoom(entry)) {
    base::MutexLock lock(&mutex_);
    counted_.refused.Add(entry.bytes.size());
    return;
  }
  const absl::Status status = writer_->Append(entry.key(), entry.bytes.span());
  if (!status.ok()) return Abandon(status);
  samples_.push_back(entry.sample);
}

bool Store::MakeRoom(const Entry& entry) {
  if (writer_ != nullptr && (!writer_->HasRoom(RecordBytes(entry.key())) ||
                             writer_->records() >= segment_records_)) {
    SealOpen();
  }
  std::optional<Leaving> leaving;
  for (;;) {
    const std::int64_t now = around_.clock->NowNanos();
    {
      base::MutexLock lock(&mutex_);
      if (writes_out_.IsOpen(now)) return false;
      full_ = full_ || IsAtLimit();
      if (!IsAtLimit()) break;
    }
    if (!IsWorth(TimeToNextUse(entry.sample, entry.told_nanos,
                               *around_.next_use, now),
                 now)) {
      return false;
    }
    leaving = Evict();
    if (!leaving.has_value()) return false;
  }
  if (writer_ != nullptr) return true;
  if (!OpenSegment(&leaving)) return false;
  if (leaving.has_value()) CarryOver(*leaving, RecordBytes(entry.key()));
  return writer_ != nullptr;
}

// Where there is no room for both, what is leaving is let go of.
bool Store::OpenSegment(std::optional<Leaving>* leaving) {
  const std::uint64_t serial = next_serial_++;
  const std::string name = SegmentName(serial);
  int fd = volume_->Create(name, options_.segment_bytes);
  // Others have filled the disk: what we have gives way before we ask again.
  if (fd == -ENOSPC || fd == -EDQUOT) {
    leaving->reset();
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
  const std::int64_t now = around_.clock->NowNanos();
  base::MutexLock lock(&mutex_);
  counted_.used += options_.segment_bytes;
  open_ = index_.AddSegment(std::move(file), now);
  return true;
}

std::optional<Store::Leaving> Store::Evict() {
  std::vector<Index::Drawn> drawn;
  {
    base::MutexLock lock(&mutex_);
    drawn = Draw();
  }
  // Nobody else removes any.
  const auto victim =
      ChooseVictim(drawn, *around_.next_use, around_.clock->NowNanos());
  if (!victim.has_value()) return std::nullopt;
  Leaving leaving;
  leaving.bar_nanos = victim->bar_nanos;
  {
    base::MutexLock lock(&mutex_);
    leaving.removed = index_.RemoveSegment(victim->segment);
    counted_.evicted.reads += leaving.removed.places.size();
    counted_.evicted.bytes += leaving.removed.bytes;
    bar_at_nanos_ = INT64_MIN;
  }
  RemoveFile(*leaving.removed.file);
  return leaving;
}

// At most half of the records, and of the bytes, of a segment that made way go
// into the one that was opened in its place, where a record of `reserved` bytes
// still has room.
// They are misses until they are there.
void Store::CarryOver(const Leaving& leaving, std::uint64_t reserved) {
  const Index::Removed& removed = leaving.removed;
  const std::vector<bool> stays =
      SamplesToKeep(leaving.bar_nanos, removed.samples, *around_.next_use,
                    around_.clock->NowNanos());
  Tally carried;
  std::uint64_t unpublished = 0;
  for (std::size_t i = 0; i < stays.size(); ++i) {
    if (!stays[i]) continue;
    const RecordLocation& place = removed.places[i];
    if (2 * (carried.reads + 1) > stays.size() ||
        2 * (carried.bytes + place.bytes) > options_.segment_bytes ||
        !writer_->HasRoom(place.bytes, reserved)) {
      break;
    }
    const auto record = ReadWhole(*volume_, {removed.file, place}, carried_);
    if (!record.ok()) {
      if (absl::IsOutOfRange(record.status())) continue;
      const std::int64_t now = around_.clock->NowNanos();
      base::MutexLock lock(&mutex_);
      ReadFailed(record.status(), now);
      if (reads_out_.IsOpen(now)) break;
      continue;
    }
    const absl::Status status = writer_->Append(record->key, record->data);
    if (!status.ok()) return Abandon(status);
    samples_.push_back(removed.samples[i]);
    carried.Add(place.bytes);
    unpublished += place.bytes;
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
    // Its room stays taken.
    WriteFailed(absl::StrCat(name, ": ", std::strerror(-error)));
    return;
  }
  base::MutexLock lock(&mutex_);
  counted_.used -= file.bytes;
}

void Store::Publish() {
  if (writer_ == nullptr || samples_.empty()) return;
  const auto places = writer_->Flush();
  if (!places.ok()) return Abandon(places.status());
  const std::vector<storage::SampleRef> samples = std::move(samples_);
  samples_.clear();
  base::MutexLock lock(&mutex_);
  writes_out_.Worked();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (index_.Add(*open_, (*places)[i], samples[i])) {
      counted_.written.Add((*places)[i].bytes);
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

// What it published stays: that is on the disk.
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
  const std::int64_t now = around_.clock->NowNanos();
  base::MutexLock lock(&mutex_);
  ++counted_.failures;
  if (writes_out_.Failed(now)) {
    spdlog::warn("nothing is written to the cache on disk for a while: {}",
                 why);
  }
}

}  // namespace forebay::cache::disk
