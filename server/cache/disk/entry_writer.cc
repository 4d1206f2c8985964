#include "server/cache/disk/entry_writer.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/fd.h"
#include "server/cache/disk/record_reader.h"
#include "server/cache/disk/segment_eviction.h"
#include "server/cache/disk/segment_format.h"

namespace forebay::cache::disk {

EntryWriter::EntryWriter(Volume* volume, const NextUse* next_use,
                         const base::Clock* clock, StoreState* state)
    : volume_(volume), next_use_(next_use), clock_(clock), state_(state) {}

void EntryWriter::Continue(Recovered last) {
  next_serial_ = last.file->serial + 1;
  if (last.sealed) return;
  writer_ = std::make_unique<SegmentWriter>(
      volume_, last.file, &buffer_, std::move(last.locations), last.end);
}

void EntryWriter::Write(const StoreEntry& entry) {
  if (!MakeSpace(entry)) {
    state_->CountRefused(entry.bytes.size());
    return;
  }
  const absl::Status status = writer_->Append(entry.key(), entry.bytes.span());
  if (!status.ok()) return Abandon(status);
  samples_.push_back(entry.sample);
}

bool EntryWriter::MakeSpace(const StoreEntry& entry) {
  if (writer_ != nullptr && (!writer_->HasSpace(RecordBytes(entry.key())) ||
                             writer_->records() >= state_->segment_records())) {
    SealOpen();
  }
  std::optional<EvictedSegment> evicted;
  if (!EvictFor(entry, &evicted)) return false;
  if (writer_ != nullptr) return true;
  if (!OpenSegment(&evicted)) return false;
  if (evicted.has_value()) CarryOver(*evicted, RecordBytes(entry.key()));
  return writer_ != nullptr;
}

bool EntryWriter::EvictFor(const StoreEntry& entry,
                           std::optional<EvictedSegment>* evicted) {
  for (;;) {
    switch (state_->CheckSpace()) {
      case StoreState::Space::kFree:
        return true;
      case StoreState::Space::kDiskIsOff:
        return false;
      case StoreState::Space::kNeedsEviction:
        break;
    }
    if (!state_->IsAdmitted(entry)) return false;
    *evicted = Evict();
    if (!evicted->has_value()) return false;
  }
}

bool EntryWriter::OpenSegment(std::optional<EvictedSegment>* evicted) {
  const std::uint64_t bytes = state_->segment_bytes();
  const std::uint64_t serial = next_serial_++;
  const std::string name = SegmentName(serial);
  int fd = volume_->Create(name, bytes);
  // Other programs have filled the disk, so one more segment is evicted before
  // the next attempt.
  if (fd == -ENOSPC || fd == -EDQUOT) {
    evicted->reset();
    if (Evict().has_value()) {
      state_->SpaceFreed();
      fd = volume_->Create(name, bytes);
    }
  }
  if (fd < 0) {
    state_->CountFailedWrite(absl::StrCat(name, ": ", std::strerror(-fd)));
    return false;
  }
  auto file = std::make_shared<const SegmentFile>(
      SegmentFile{base::Fd(fd), serial, bytes});
  writer_ = std::make_unique<SegmentWriter>(
      volume_, file, &buffer_, std::vector<RecordLocation>(), /*end=*/0);
  state_->Open(std::move(file));
  return true;
}

std::optional<StoreState::EvictedSegment> EntryWriter::Evict() {
  auto evicted = state_->Evict();
  if (evicted.has_value()) RemoveFile(*evicted->removed.file);
  return evicted;
}

void EntryWriter::CarryOver(const EvictedSegment& evicted,
                            std::uint64_t reserved) {
  const Index::RemovedSegment& removed = evicted.removed;
  const std::vector<bool> chosen = SamplesToCarryOver(
      evicted.threshold_nanos, removed.samples, *next_use_, clock_->NowNanos());
  Tally carried;
  std::uint64_t unpublished = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (!chosen[i]) continue;
    const RecordLocation& location = removed.locations[i];
    if (2 * (carried.reads + 1) > chosen.size() ||
        2 * (carried.bytes + location.bytes) > state_->segment_bytes() ||
        !writer_->HasSpace(location.bytes, reserved)) {
      break;
    }
    const auto record =
        ReadWholeRecord(*volume_, {removed.file, location}, carried_);
    if (!record.ok()) {
      if (absl::IsOutOfRange(record.status())) continue;
      if (state_->CountFailedRead(record.status())) break;
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
  state_->CountCarried(carried);
}

void EntryWriter::RemoveFile(const SegmentFile& file) {
  const std::string name = SegmentName(file.serial);
  const int error = volume_->Remove(name);
  if (error < 0) {
    // The file's space stays counted as used.
    state_->CountFailedWrite(absl::StrCat(name, ": ", std::strerror(-error)));
    return;
  }
  state_->FileRemoved(file.bytes);
}

void EntryWriter::Publish() {
  if (writer_ == nullptr || samples_.empty()) return;
  const auto locations = writer_->Flush();
  if (!locations.ok()) return Abandon(locations.status());
  const std::vector<storage::SampleRef> samples = std::move(samples_);
  samples_.clear();
  state_->Publish(*locations, samples);
}

void EntryWriter::SealOpen() {
  Publish();
  if (writer_ == nullptr) return;
  const absl::Status status = writer_->Seal();
  if (!status.ok()) return Abandon(status);
  writer_ = nullptr;
  state_->SealOpen();
}

void EntryWriter::Abandon(const absl::Status& status) {
  state_->CountFailedWrite(
      std::string_view(status.message().data(), status.message().size()));
  samples_.clear();
  writer_ = nullptr;
  const std::shared_ptr<const SegmentFile> empty = state_->AbandonOpen();
  if (empty != nullptr) RemoveFile(*empty);
}

}  // namespace forebay::cache::disk
