#ifndef FOREBAY_SERVER_DATASET_SHARDS_SHARD_INDEX_H_
#define FOREBAY_SERVER_DATASET_SHARDS_SHARD_INDEX_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/path_lookup.h"
#include "server/dataset/shards/field_choice.h"
#include "server/dataset/shards/key_list.h"
#include "server/dataset/shards/shard.h"
#include "server/dataset/shards/shard_samples.h"
#include "server/storage/compressed/file_points.h"

namespace forebay::dataset::shards {

// A shard in the index. If the shard is compressed as a whole, offsets and
// `size` are those of the decompressed archive. Samples are numbered across
// shards: the first sample of a shard follows the last sample of the shard
// before it.
struct ShardRecord {
  std::uint64_t path_offset = 0;  // bytes into the names
  std::uint64_t path_length = 0;  // bytes
  std::uint64_t first_sample = 0;
  std::uint64_t keys_offset = 0;  // bytes into the keys
  // The version in which the shard was indexed (ObjectVersion): `size` in
  // bytes; `stamp` the mtime in nanoseconds, or a cloud object's generation.
  std::uint64_t size = 0;
  std::int64_t stamp = 0;
  std::uint64_t inode = 0;
  std::int64_t ctime_nanos = 0;
};
static_assert(sizeof(ShardRecord) == 64);

// The parts of an index, as its file stores them.
struct ShardIndexParts {
  std::vector<std::string> fields;
  std::vector<ShardRecord> shards;
  // The vectors of the ShardSamples of all shards, concatenated.
  std::vector<MemberRecord> members;
  std::vector<std::uint8_t> alternatives;
  std::vector<std::uint32_t> decompressed;
  std::string keys;   // a KeyList for each shard, concatenated
  std::string names;  // the shards' paths, concatenated
  // The access points by which compressed shards are read. Null if no shard is
  // compressed.
  std::shared_ptr<const storage::compressed::FilePoints> points = {};
  // A reservation of at least ShardIndex::Bytes() bytes.
  base::MemoryReservation reservation = {};
};

// The index of a dataset of shards: where each field of each sample lies. A
// sample takes 8 bytes a field, plus 2 bytes and the part of its key that the
// key before it does not have. A field with alternatives takes 1 byte more; a
// field that may be gzip-compressed takes 4 bytes more. Every 1,024th key of a
// shard takes 72 bytes more, and is stored a second time, in full. A shard
// takes 104 bytes and its path.
//
// Thread-safe. Immutable, except for the shards' ctimes. Holds a reservation
// for its memory. Never blocks. Only Create has errors.
class ShardIndex {
 public:
  // The bytes of a shard from the first to the last byte of a sample's fields.
  struct Extent {
    std::uint64_t offset = 0;  // bytes
    std::uint64_t length = 0;  // bytes
  };

  // Makes an index from its parts. Checks the parts, since they may come from a
  // damaged file. DATA_LOSS: the parts do not fit together.
  static absl::StatusOr<std::shared_ptr<const ShardIndex>> Create(
      ShardIndexParts parts);

  // Returns the number of samples.
  std::uint64_t size() const { return size_; }
  // Returns the fields that were chosen when the shards were scanned.
  const FieldChoice& fields() const { return fields_; }
  std::size_t shard_count() const { return parts_.shards.size(); }
  // Returns the length in bytes of the longest value of `field`.
  std::uint64_t LongestOf(std::size_t field) const { return longest_[field]; }
  // Returns the length in bytes of the shortest value of `field`.
  std::uint64_t ShortestOf(std::size_t field) const { return shortest_[field]; }
  // Returns the length of the longest extent in bytes.
  std::uint64_t largest_extent() const { return largest_extent_; }
  // Returns the number of samples that lack a field.
  std::uint64_t lacking_samples() const { return lacking_samples_; }
  // Returns the first sample that lacks a field, if there is any.
  std::uint64_t first_lacking() const { return first_lacking_; }
  // Returns a digest (XXH3-128) of the fields, of the shards with their sizes
  // and times, and of the members.
  const Version& version() const { return version_; }
  const ShardIndexParts& parts() const { return parts_; }

  // Returns the name of a shard, and the version in which it is read. `shard`
  // is less than shard_count().
  Shard ShardAt(std::size_t shard) const;
  // Returns the index of the shard that has the sample. Here and in the next
  // four methods, `sample` is less than size().
  std::size_t ShardOf(std::uint64_t sample) const;
  // Returns the member that holds a field of the sample. `field` is less than
  // fields().size().
  ChosenMember MemberOf(std::uint64_t sample, std::size_t field) const;
  // Returns the decompressed bytes of the sample's value of a field.
  std::uint64_t BytesOf(std::uint64_t sample, std::size_t field) const;
  // Returns the range of bytes to read for a sample.
  Extent ExtentOf(std::uint64_t sample) const;
  // Returns the sample's key, for messages.
  std::string KeyOf(std::uint64_t sample) const;

  // Whether this is an index of exactly these fields and shards, in these
  // versions.
  bool IsOf(const FieldChoice& fields, absl::Span<const Shard> shards) const;

  // Returns the revision that the index has recorded for the shard with the
  // path `path`.
  storage::Revision RevisionOf(std::string_view path) const;
  // Compares the shard's samples in the index with `samples`, which a
  // revalidation found in `revision` of the shard. If they are equal, the index
  // records the revision and returns true. Otherwise it changes nothing and
  // returns false.
  bool Accept(std::string_view path, const storage::Revision& revision,
              const ShardSamples& samples) const;
  // Does the same as Accept for a compressed shard, but compares the checksum
  // of some of its pieces (compressed/piece_digest.h).
  bool AcceptCompressed(std::string_view path,
                        const storage::Revision& revision,
                        std::uint32_t pieces_crc32c) const;
  // Returns the access points of compressed shards. Null if no shard is
  // compressed.
  const std::shared_ptr<const storage::compressed::FilePoints>& points() const {
    return parts_.points;
  }

  // Returns the memory that the index takes, in bytes.
  std::uint64_t memory() const;
  // Returns an upper bound of memory() for an index with these numbers of
  // items, and `text` bytes of keys and paths.
  static std::uint64_t Bytes(std::uint64_t shards, std::uint64_t members,
                             std::uint64_t alternatives,
                             std::uint64_t decompressed, std::uint64_t text);

 private:
  ShardIndex(ShardIndexParts parts, FieldChoice fields);

  // Checks that the arrays have matching numbers of items, and sets `size_`.
  absl::Status CheckCounts();
  // Checks the shards' ranges, and finds the restart points of their keys.
  absl::Status CheckShards();
  // Checks that every member lies within its shard.
  absl::Status CheckSamples() const;
  // Computes the version and the statistics of all samples.
  void Summarize();
  // Returns the number of the shard's last sample, plus 1.
  std::uint64_t EndOf(std::size_t shard) const;
  // Returns the shard's path below the root.
  std::string_view PathOf(const ShardRecord& shard) const;
  // Returns a PathLookup::PathOf: a function from a shard's number to its path.
  auto paths() const {
    return [this](std::size_t shard) { return PathOf(parts_.shards[shard]); };
  }
  // Returns the shard's access points. Null if the shard is not compressed.
  const storage::compressed::CompressedFile* CompressedOf(
      const ShardRecord& shard) const;
  // Returns the shard's KeyList.
  std::string_view KeysOf(std::size_t shard) const;
  // Whether the index has exactly the samples `samples` for the shard.
  bool HasSamples(std::size_t shard, const ShardSamples& samples) const;

  ShardIndexParts parts_;
  const FieldChoice fields_;
  // Each sample has a run of consecutive items in `alternatives`, and another
  // in `decompressed`. For each field, these vectors have the index of the
  // field's item within the run, or kNowhere if the field has no item there.
  static constexpr std::size_t kNowhere = SIZE_MAX;
  std::vector<std::size_t> alternative_places_;
  std::vector<std::size_t> decompressed_places_;
  // The lengths of each sample's runs in `alternatives` and in `decompressed`.
  std::size_t alternatives_each_ = 0;
  std::size_t decompressed_each_ = 0;
  std::uint64_t size_ = 0;
  PathLookup by_path_;
  std::vector<KeyRestarts> restarts_;    // by shard
  std::vector<std::uint64_t> longest_;   // by field
  std::vector<std::uint64_t> shortest_;  // by field
  std::uint64_t largest_extent_ = 0;
  std::uint64_t lacking_samples_ = 0;
  std::uint64_t first_lacking_ = 0;
  Version version_ = {};
  // For each shard, the ctime of the last revision that was found to have the
  // indexed samples.
  mutable std::vector<std::atomic<std::int64_t>> ctimes_;
};

// Makes the index of `shards`, in this order. `samples` has the samples of each
// shard. `points` has the access points of compressed shards; null if no shard
// is compressed. The index gets its own reservation from `memory`.
// RESOURCE_EXHAUSTED: `memory` cannot grow.
absl::StatusOr<std::shared_ptr<const ShardIndex>> BuildShardIndex(
    const FieldChoice& fields, absl::Span<const Shard> shards,
    std::vector<ShardSamples> samples, base::WorkingMemory& memory,
    std::shared_ptr<const storage::compressed::FilePoints> points = nullptr);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_INDEX_H_
