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
#include "server/storage/inflated/file_points.h"

namespace forebay::dataset::shards {

// A shard; if it is compressed, as if it were not. Its samples follow those of
// the shard before it.
struct ShardRecord {
  std::uint64_t path_offset = 0;  // bytes into the names
  std::uint64_t path_length = 0;  // bytes
  std::uint64_t first_sample = 0;
  std::uint64_t keys_offset = 0;  // bytes into the keys
  std::uint64_t size = 0;         // of its version, as all below
  std::int64_t stamp = 0;
  std::uint64_t inode = 0;
  std::int64_t ctime_nanos = 0;
};
static_assert(sizeof(ShardRecord) == 64);

// The parts of an index.
struct ShardIndexParts {
  std::vector<std::string> fields;
  std::vector<ShardRecord> shards;
  // Those of all shards.
  std::vector<MemberRecord> members;
  std::vector<std::uint8_t> alternatives;
  std::vector<std::uint32_t> inflated;
  std::string keys;  // a list for each shard
  std::string names;
  // By which compressed shards are read. Null if none is.
  std::shared_ptr<const storage::inflated::FilePoints> points = {};
  // Of at least ShardIndex::Bytes.
  base::MemoryReservation reservation = {};
};

// Every sample of a dataset of shards: where its fields lie, packed. A sample
// takes 8 bytes a field, one more for each field with alternatives, four for
// each that may be compressed, and two bytes and the new part of its key. Every
// 1,024th key of a shard takes 72 bytes more, and itself. A shard
// takes 104 bytes and its path. Holds a reservation for them. Thread-safe;
// immutable, but for the shards' ctimes. Never blocks.
class ShardIndex {
 public:
  // The bytes of a shard that hold all fields that a sample has.
  struct Extent {
    std::uint64_t offset = 0;  // bytes
    std::uint64_t length = 0;  // bytes
  };

  // DATA_LOSS: the parts do not fit together. They may come from a damaged
  // file.
  static absl::StatusOr<std::shared_ptr<const ShardIndex>> Create(
      ShardIndexParts parts);

  // Samples.
  std::uint64_t size() const { return size_; }
  const FieldChoice& fields() const { return fields_; }
  std::size_t shard_count() const { return parts_.shards.size(); }
  // Bytes of the longest and of the shortest value of `field`.
  std::uint64_t LongestOf(std::size_t field) const { return longest_[field]; }
  std::uint64_t ShortestOf(std::size_t field) const { return shortest_[field]; }
  // Bytes of the longest extent.
  std::uint64_t largest_extent() const { return largest_extent_; }
  // How many samples lack a field, and the first of them.
  std::uint64_t lacking_samples() const { return lacking_samples_; }
  std::uint64_t first_lacking() const { return first_lacking_; }
  // A digest (XXH3) of the fields, the shards with their sizes and times, and
  // the members.
  const Version& version() const { return version_; }
  const ShardIndexParts& parts() const { return parts_; }

  // `shard` is below shard_count().
  Shard ShardAt(std::size_t shard) const;
  // In the five calls below, `sample` is less than size().
  std::size_t ShardOf(std::uint64_t sample) const;
  // `field` is below fields().size().
  ChosenMember MemberOf(std::uint64_t sample, std::size_t field) const;
  // Bytes of its value.
  std::uint64_t BytesOf(std::uint64_t sample, std::size_t field) const;
  Extent ExtentOf(std::uint64_t sample) const;
  // For people.
  std::string KeyOf(std::uint64_t sample) const;

  // Whether it is of these fields of these shards, in these versions.
  bool IsOf(const FieldChoice& fields, absl::Span<const Shard> shards) const;

  // The revision by which the index knows the shard of that path.
  storage::Revision RevisionOf(std::string_view path) const;
  // A rescan found `samples` in that revision of the shard. If they are what
  // the index has, it knows the shard by that revision from then on. Else
  // returns false and changes nothing.
  bool Accept(std::string_view path, const storage::Revision& revision,
              const ShardSamples& samples) const;
  // Likewise of a compressed shard, of which a rescan found pieces alone.
  bool AcceptPacked(std::string_view path, const storage::Revision& revision,
                    std::uint32_t pieces_crc32c) const;
  // Null if no shard is compressed.
  const std::shared_ptr<const storage::inflated::FilePoints>& points() const {
    return parts_.points;
  }

  // Bytes of memory.
  std::uint64_t memory() const;
  // The bytes of an index with so many parts, and bytes of text.
  static std::uint64_t Bytes(std::uint64_t shards, std::uint64_t members,
                             std::uint64_t alternatives, std::uint64_t inflated,
                             std::uint64_t text);

 private:
  ShardIndex(ShardIndexParts parts, FieldChoice fields);

  absl::Status CheckCounts();
  // Finds the restart points of the shards' keys.
  absl::Status CheckShards();
  absl::Status CheckSamples() const;
  void Summarize();
  std::uint64_t EndOf(std::size_t shard) const;
  std::string_view PathOf(const ShardRecord& shard) const;
  // As PathLookup wants them.
  auto paths() const {
    return [this](std::size_t shard) { return PathOf(parts_.shards[shard]); };
  }
  // Null if it is not compressed.
  const storage::inflated::PackedFile* PackedOf(const ShardRecord& shard) const;
  std::string_view KeysOf(std::size_t shard) const;
  bool HasSamples(std::size_t shard, const ShardSamples& samples) const;

  ShardIndexParts parts_;
  const FieldChoice fields_;
  // By field: where its alternative stands among a sample's, and its inflated
  // bytes, or kNowhere.
  static constexpr std::size_t kNowhere = SIZE_MAX;
  std::vector<std::size_t> alternative_places_;
  std::vector<std::size_t> inflated_places_;
  std::size_t alternatives_each_ = 0;
  std::size_t inflated_each_ = 0;
  std::uint64_t size_ = 0;
  PathLookup by_path_;
  std::vector<KeyRestarts> restarts_;    // by shard
  std::vector<std::uint64_t> longest_;   // by field
  std::vector<std::uint64_t> shortest_;  // by field
  std::uint64_t largest_extent_ = 0;
  std::uint64_t lacking_samples_ = 0;
  std::uint64_t first_lacking_ = 0;
  Version version_ = {};
  // By shard: the ctime of the file that was last found to be as indexed.
  mutable std::vector<std::atomic<std::int64_t>> ctimes_;
};

// Makes the index of `shards`, each with its samples, in this order. `points`
// has those that are compressed; null if none is. The index keeps its part of
// `memory`. RESOURCE_EXHAUSTED: that of `memory`.
absl::StatusOr<std::shared_ptr<const ShardIndex>> BuildShardIndex(
    const FieldChoice& fields, absl::Span<const Shard> shards,
    std::vector<ShardSamples> samples, base::WorkingMemory& memory,
    std::shared_ptr<const storage::inflated::FilePoints> points = nullptr);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_INDEX_H_
