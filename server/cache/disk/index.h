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

// Finds records by fingerprint and by segment.
//
// Not thread-safe; the store, which owns it, locks. Never blocks. Has no
// errors: a full index adds nothing.
class Index {
 public:
  // The most bytes of memory that a record takes: its Entry (24 bytes), and
  // about three slots of the hash table (9 bytes each), most of them spare.
  static constexpr std::uint64_t kEntryBytes = 56;

  using SegmentId = std::uint32_t;  // valid until its segment is removed

  // A record that was found. The record's file stays open as long as this
  // object lives.
  struct Match {
    std::shared_ptr<const SegmentFile> file;
    RecordLocation location;
  };
  // A segment that was drawn at random, with some of its samples.
  struct DrawnSegment {
    SegmentId segment = 0;
    std::int64_t used_at_nanos = 0;
    std::vector<storage::SampleRef> samples;
  };
  struct RemovedSegment {
    std::shared_ptr<const SegmentFile> file;
    std::uint64_t bytes = 0;  // of the records
    // The records in the order of the file, and the sample for which each
    // record was last used.
    std::vector<RecordLocation> locations;
    std::vector<storage::SampleRef> samples;
  };

  // Creates an index with memory for `records` records, which never grows.
  explicit Index(std::uint64_t records);
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  // Adds a segment without records. Returns its id.
  SegmentId AddSegment(std::shared_ptr<const SegmentFile> file,
                       std::int64_t now_nanos);
  // Removes a segment with all its records.
  RemovedSegment RemoveSegment(SegmentId segment);
  // Frees the spare memory of a segment that gets no more records.
  void Seal(SegmentId segment);

  // Adds a record of a segment, and the sample that the record belongs to.
  // Returns false if the fingerprint exists already, or the index is full.
  bool Add(SegmentId segment, const RecordLocation& location,
           const storage::SampleRef& sample);
  // Finds a record, and notes that it is used now for `sample`. Returns nullopt
  // if there is no such record.
  std::optional<Match> Find(std::uint64_t fingerprint,
                            const storage::SampleRef& sample,
                            std::int64_t now_nanos);
  // Returns whether there is a record of that fingerprint. This does not count
  // as a use.
  bool Has(std::uint64_t fingerprint) const {
    return refs_.contains(fingerprint);
  }
  // Removes the record, unless the fingerprint has another location by now.
  void Drop(const Match& found);

  // Draws at most `segments` different segments other than `but`, and up to
  // `samples` samples of each. A sample may be drawn twice.
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
  // A record: its location, and the sample for which it was last used.
  struct Entry {
    std::uint64_t fingerprint = 0;
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;  // 0 if the record was dropped
    // A sample whose numbers exceed 32 bits is stored as unknown (dataset 0).
    std::uint32_t dataset = 0;
    std::uint32_t sample = 0;
  };
  static_assert(sizeof(Entry) == 24);
  struct Segment {
    std::shared_ptr<const SegmentFile> file;  // null if the id is free
    std::vector<Entry> entries;               // in the order of the file
    std::int64_t used_at_nanos = 0;           // when a record was last found
    std::uint64_t records = 0;                // entries that are not dropped
    std::uint64_t bytes = 0;                  // of these records
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
  // Writes `sample` to the entry; if its numbers exceed 32 bits, writes an
  // unknown sample.
  static void SetSample(Entry& entry, const storage::SampleRef& sample);

  const std::uint64_t capacity_;
  std::vector<Segment> segments_;
  std::vector<SegmentId> free_;  // ids without a segment
  absl::flat_hash_set<EntryRef, FingerprintHash, FingerprintEqual> refs_;
  std::uint64_t record_bytes_ = 0;
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_INDEX_H_
