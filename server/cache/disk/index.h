#ifndef FOREBAY_SERVER_CACHE_DISK_INDEX_H_
#define FOREBAY_SERVER_CACHE_DISK_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "server/base/philox.h"
#include "server/cache/disk/segment_file.h"
#include "server/cache/disk/segment_format.h"
#include "server/storage/byte_source.h"

namespace forebay::cache::disk {

// Where what is kept lies: by fingerprint, and by segment. A record takes at
// most kIndexEntryBytes of memory. Not thread-safe; the caller locks. Never
// blocks; no errors.
class Index {
 public:
  static constexpr std::uint64_t kEntryBytes = 56;

  using SegmentId = std::uint32_t;  // while it is there

  struct Found {
    std::shared_ptr<const SegmentFile> file;
    RecordLocation place;
  };
  // A segment, and some of its samples, as drawn.
  struct Drawn {
    SegmentId segment = 0;
    std::uint64_t serial = 0;
    std::int64_t used_at_nanos = 0;
    std::vector<storage::SampleRef> samples;
  };
  struct Removed {
    std::shared_ptr<const SegmentFile> file;
    std::uint64_t bytes = 0;  // of the records
    // In the order in which they lie there, with what they were read as last.
    std::vector<RecordLocation> places;
    std::vector<storage::SampleRef> samples;
  };

  // Has room for `records`, and takes no memory for more.
  explicit Index(std::uint64_t records);
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  SegmentId AddSegment(std::shared_ptr<const SegmentFile> file,
                       std::int64_t now_nanos);
  Removed RemoveSegment(SegmentId segment);
  // No more records come into it.
  void Seal(SegmentId segment);

  // False: one of that fingerprint is there, or there is no room.
  bool Add(SegmentId segment, const RecordLocation& place,
           const storage::SampleRef& sample);
  // Nullopt: not there. What is found was used now, as that sample.
  std::optional<Found> Find(std::uint64_t fingerprint,
                            const storage::SampleRef& sample,
                            std::int64_t now_nanos);
  bool Has(std::uint64_t fingerprint) const {
    return places_.contains(fingerprint);
  }
  // Forgets the record, if it is still the one that was found.
  void Drop(const Found& found);

  // At most so many segments, each once, `but` left out, and of each so many
  // samples, some perhaps more than once.
  std::vector<Drawn> Draw(std::size_t segments, std::size_t samples,
                          std::optional<SegmentId> but,
                          base::PhiloxStream& random) const;

  std::uint64_t records() const { return places_.size(); }
  std::uint64_t records_of(SegmentId segment) const {
    return segments_[segment].records;
  }
  std::uint64_t record_bytes() const { return record_bytes_; }
  std::uint64_t capacity() const { return capacity_; }  // records

 private:
  struct Entry {
    std::uint64_t fingerprint = 0;
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;  // 0: dropped
    // Numbers are small: what would not fit here is unknown, dataset 0.
    std::uint32_t dataset = 0;
    std::uint32_t sample = 0;
  };
  static_assert(sizeof(Entry) == 24);
  struct Segment {
    std::shared_ptr<const SegmentFile> file;  // null: there is none
    std::vector<Entry> entries;
    std::int64_t used_at_nanos = 0;
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
  };
  // Of an entry, for a table that keeps fingerprints only there.
  struct EntryRef {
    SegmentId segment = 0;
    std::uint32_t entry = 0;
  };
  struct PlaceHash {
    // NOLINTNEXTLINE(readability-identifier-naming): as the library calls it
    using is_transparent = void;
    std::size_t operator()(std::uint64_t fingerprint) const {
      return fingerprint;
    }
    std::size_t operator()(EntryRef place) const {
      return index->At(place).fingerprint;
    }
    const Index* index;
  };
  struct PlaceEqual {
    // NOLINTNEXTLINE(readability-identifier-naming): as the library calls it
    using is_transparent = void;
    bool operator()(EntryRef a, std::uint64_t fingerprint) const {
      return index->At(a).fingerprint == fingerprint;
    }
    bool operator()(EntryRef a, EntryRef b) const {
      return index->At(a).fingerprint == index->At(b).fingerprint;
    }
    const Index* index;
  };

  const Entry& At(EntryRef place) const {
    return segments_[place.segment].entries[place.entry];
  }
  Entry& At(EntryRef place) {
    return segments_[place.segment].entries[place.entry];
  }
  static void Name(Entry& entry, const storage::SampleRef& sample);

  const std::uint64_t capacity_;
  std::vector<Segment> segments_;
  std::vector<SegmentId> free_;
  absl::flat_hash_set<EntryRef, PlaceHash, PlaceEqual> places_;
  std::uint64_t record_bytes_ = 0;
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_INDEX_H_
