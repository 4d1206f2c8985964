#include "server/cache/disk/index.h"

#include <algorithm>
#include <utility>

#include "server/base/check.h"

namespace forebay::cache::disk {

Index::Index(std::uint64_t records)
    : capacity_(records),
      refs_(0, FingerprintHash{this}, FingerprintEqual{this}) {
  // The table gets its final size at once, because a table takes its memory
  // twice while it grows. A third of the slots is spare, so the table stays
  // below 25/32 full. Up to 25/32, abseil's table clears erased entries in
  // place instead of growing.
  refs_.reserve(records + records / 3);
}

Index::SegmentId Index::AddSegment(std::shared_ptr<const SegmentFile> file,
                                   std::int64_t now_nanos) {
  if (free_.empty()) {
    free_.push_back(static_cast<SegmentId>(segments_.size()));
    segments_.emplace_back();
  }
  const SegmentId id = free_.back();
  free_.pop_back();
  segments_[id].file = std::move(file);
  segments_[id].used_at_nanos = now_nanos;
  return id;
}

Index::RemovedSegment Index::RemoveSegment(SegmentId segment) {
  Segment& removed = segments_[segment];
  FOREBAY_CHECK(removed.file != nullptr);
  RemovedSegment gone;
  gone.file = removed.file;
  gone.bytes = removed.bytes;
  gone.locations.reserve(removed.records);
  gone.samples.reserve(removed.records);
  for (std::uint32_t i = 0; i < removed.entries.size(); ++i) {
    const Entry& entry = removed.entries[i];
    if (entry.bytes == 0) continue;
    refs_.erase(EntryRef{segment, i});
    gone.locations.push_back({entry.fingerprint, entry.offset, entry.bytes});
    gone.samples.push_back({entry.dataset, entry.sample});
  }
  record_bytes_ -= removed.bytes;
  free_.push_back(segment);
  removed = Segment();
  return gone;
}

void Index::Seal(SegmentId segment) {
  segments_[segment].entries.shrink_to_fit();
}

void Index::SetSample(Entry& entry, const storage::SampleRef& sample) {
  const bool fits = sample.dataset <= UINT32_MAX && sample.sample <= UINT32_MAX;
  entry.dataset = fits ? static_cast<std::uint32_t>(sample.dataset) : 0;
  entry.sample = fits ? static_cast<std::uint32_t>(sample.sample) : 0;
}

bool Index::Add(SegmentId segment, const RecordLocation& location,
                const storage::SampleRef& sample) {
  Segment& into = segments_[segment];
  FOREBAY_CHECK(into.file != nullptr && location.bytes > 0);
  if (records() >= capacity_ || refs_.contains(location.fingerprint)) {
    return false;
  }
  Entry entry = {.fingerprint = location.fingerprint,
                 .offset = location.offset,
                 .bytes = location.bytes};
  SetSample(entry, sample);
  into.entries.push_back(entry);
  refs_.insert(
      EntryRef{segment, static_cast<std::uint32_t>(into.entries.size() - 1)});
  ++into.records;
  into.bytes += location.bytes;
  record_bytes_ += location.bytes;
  return true;
}

std::optional<Index::Match> Index::Find(std::uint64_t fingerprint,
                                        const storage::SampleRef& sample,
                                        std::int64_t now_nanos) {
  const auto known = refs_.find(fingerprint);
  if (known == refs_.end()) return std::nullopt;
  Segment& segment = segments_[known->segment];
  segment.used_at_nanos = now_nanos;
  Entry& entry = At(*known);
  if (sample.dataset != 0) SetSample(entry, sample);
  return Match{segment.file, {fingerprint, entry.offset, entry.bytes}};
}

void Index::Drop(const Match& found) {
  const auto known = refs_.find(found.location.fingerprint);
  if (known == refs_.end()) return;
  Segment& segment = segments_[known->segment];
  Entry& entry = At(*known);
  if (segment.file != found.file || entry.offset != found.location.offset)
    return;
  refs_.erase(known);
  --segment.records;
  segment.bytes -= entry.bytes;
  record_bytes_ -= entry.bytes;
  entry.bytes = 0;
}

std::vector<Index::DrawnSegment> Index::Draw(std::size_t segments,
                                             std::size_t samples,
                                             std::optional<SegmentId> but,
                                             base::PhiloxStream& random) const {
  std::vector<SegmentId> there;
  for (SegmentId id = 0; id < segments_.size(); ++id) {
    if (segments_[id].file != nullptr && id != but) there.push_back(id);
  }
  const std::size_t count = std::min(segments, there.size());
  std::vector<DrawnSegment> drawn;
  drawn.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t pick = i + random.NextUint32() % (there.size() - i);
    std::swap(there[i], there[pick]);
    const Segment& segment = segments_[there[i]];
    DrawnSegment one = {there[i], segment.used_at_nanos, {}};
    for (std::size_t k = 0; k < samples && segment.records > 0; ++k) {
      const Entry& entry =
          segment.entries[random.NextUint32() % segment.entries.size()];
      if (entry.bytes == 0) continue;
      one.samples.push_back({entry.dataset, entry.sample});
    }
    drawn.push_back(std::move(one));
  }
  return drawn;
}

}  // namespace forebay::cache::disk
