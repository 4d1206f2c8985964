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

// Finds records by fingerprint and by segment. A record takes at most
// kEntryBytes of memory. Not thread-safe; the caller locks. Never blocks. No
// errors.
class Index {
 public:
  static constexpr std::uint64_t kEntryBytes = 56;

  using SegmentId = std::uint32_t;  // valid until its segment is removed

  struct Found {
    std::shared_ptr<const SegmentFile> file;
    RecordLocation location;
  };
  // A segment that was drawn, with some of its samples.
  struct DrawnSegment {
    SegmentId segment = 0;
    std::int64_t used_at_nanos = 0;
    std::vector<storage::SampleRef> samples;
  };
  struct RemovedSegment {
    std::shared_ptr<const SegmentFile> file;
    std::uint64_t bytes = 0;  // of the records
    // In the order of the file. The samples are those of the last use of each.
    std::vector<RecordLocation> locations;
    std::vector<storage::SampleRef> samples;
  };

  // Has space for `records`, and takes no more memory.
  explicit Index(std::uint64_t records);
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  SegmentId AddSegment(std::shared_ptr<const SegmentFile> file,
                       std::int64_t now_nanos);
  RemovedSegment RemoveSegment(SegmentId segment);
  // Frees spare memory: the segment gets no more records.
  void Seal(SegmentId segment);

  // Returns false if the fingerprint exists already, or the index is full.
  bool Add(SegmentId segment, const RecordLocation& location,
           const storage::SampleRef& sample);
  // Returns nullopt if it is not there. Notes that the record was used now, as
  // that sample.
  std::optional<Found> Find(std::uint64_t fingerprint,
                            const storage::SampleRef& sample,
                            std::int64_t now_nanos);
  bool Has(std::uint64_t fingerprint) const {
    return refs_.contains(fingerprint);
  }
  // Removes the record, if it is still the one that was found.
  void Drop(const Found& found);

  // Draws at most `segments` segments, each once and without `but`, and up to
  // `samples` samples of each, with replacement.
  std::vector<DrawnSegment> Draw(std::size_t segments, std::size_t samples,
                                 std::optional<SegmentId> but,
                                 base::PhiloxStream& random) const;

  std::uint64_t records() const { return refs_.size(); }
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
    // Larger numbers do not fit: such a sample is unknown, of dataset 0.
    std::uint32_t dataset = 0;
    std::uint32_t sample = 0;
  };
  static_assert(sizeof(Entry) == 24);
  struct Segment {
    std::shared_ptr<const SegmentFile> file;  // null: a free id
    std::vector<Entry> entries;
    std::int64_t used_at_nanos = 0;
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
  };
  // Refers to an entry, so that the hash table stores no fingerprints of its
  // own.
  struct EntryRef {
    SegmentId segment = 0;
    std::uint32_t entry = 0;
  };
  struct FingerprintHash {
    // NOLINTNEXTLINE(readability-identifier-naming): as the library calls it
    using is_transparent = void;
    std::size_t operator()(std::uint64_t fingerprint) const {
      return fingerprint;
    }
    std::size_t operator()(EntryRef ref) const {
      return index->At(ref).fingerprint;
    }
    const Index* index;
  };
  struct FingerprintEqual {
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

  const Entry& At(EntryRef ref) const {
    return segments_[ref.segment].entries[ref.entry];
  }
  Entry& At(EntryRef ref) { return segments_[ref.segment].entries[ref.entry]; }
  static void SetSample(Entry& entry, const storage::SampleRef& sample);

  const std::uint64_t capacity_;
  std::vector<Segment> segments_;
  std::vector<SegmentId> free_;
  absl::flat_hash_set<EntryRef, FingerprintHash, FingerprintEqual> refs_;
  std::uint64_t record_bytes_ = 0;
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_INDEX_H_
