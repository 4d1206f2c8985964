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
#include "server/dataset/shards/field_choice.h"
#include "server/dataset/shards/key_list.h"
#include "server/dataset/shards/shard.h"
#include "server/dataset/shards/tar_header.h"

namespace forebay::dataset::shards {

// Where a field's bytes lie: data begins with a block.
struct MemberRecord {
  static constexpr std::uint64_t kLargestOffset = UINT32_MAX * kTarBlock;
  static constexpr std::uint64_t kLargestLength = UINT32_MAX;

  std::uint32_t block = 0;
  std::uint32_t length = 0;  // bytes

  bool operator==(const MemberRecord&) const = default;
};
static_assert(sizeof(MemberRecord) == 8);

// The samples of one shard, in the form in which an index has them.
struct ShardSamples {
  // One for each field of each sample.
  std::vector<MemberRecord> members;
  // For each sample, one for each field that has several alternatives: which.
  std::vector<std::uint8_t> alternatives;
  KeyList keys;

  // Makes room for one more of them, counted in `memory`: its errors.
  absl::Status CountOneMore(const FieldChoice& fields,
                            base::WorkingMemory& memory);
};

// A shard whose samples are the next after those of the shard before it.
struct ShardRecord {
  std::uint64_t path_offset = 0;  // bytes into the names
  std::uint64_t path_length = 0;  // bytes
  std::uint64_t first_sample = 0;
  std::uint64_t keys_offset = 0;  // bytes into the keys
  std::uint64_t size = 0;         // its version, as what follows
  std::int64_t stamp = 0;
  std::uint64_t inode = 0;
  std::int64_t ctime_nanos = 0;
};
static_assert(sizeof(ShardRecord) == 64);

// What an index is made of.
struct ShardIndexParts {
  std::vector<std::string> fields;
  std::vector<ShardRecord> shards;
  // Of all shards.
  std::vector<MemberRecord> members;
  std::vector<std::uint8_t> alternatives;
  std::string keys;  // a list for each shard
  std::string names;
  // For at least ShardIndex::Bytes of them.
  base::MemoryReservation reservation = {};
};

// Every sample of a dataset of shards: where its fields lie, packed. Takes 8
// bytes a field of each sample, one more where a field has alternatives, two
// and what is new in its key, and 72 a shard besides its path, for which it
// holds a reservation. Immutable and thread-safe, but for the shards' ctimes;
// never blocks.
class ShardIndex {
 public:
  // A place in a shard that holds all fields of a sample.
  struct Extent {
    std::uint64_t offset = 0;  // bytes
    std::uint64_t length = 0;  // bytes
  };

  // DATA_LOSS if the parts do not fit together; they may come from a file that
  // nobody vouches for.
  static absl::StatusOr<std::shared_ptr<const ShardIndex>> Create(
      ShardIndexParts parts);

  // Samples.
  std::uint64_t size() const { return size_; }
  const FieldChoice& fields() const { return fields_; }
  std::size_t shard_count() const { return parts_.shards.size(); }
  // Bytes of the longest that a sample has of `field`.
  std::uint64_t LongestOf(std::size_t field) const { return longest_[field]; }
  // Bytes of the longest ExtentOf.
  std::uint64_t largest_extent() const { return largest_extent_; }
  // A digest (XXH3) of all that samples are: fields, shards with their sizes
  // and times, and places.
  const Version& version() const { return version_; }
  const ShardIndexParts& parts() const { return parts_; }

  // `shard` is below shard_count().
  Shard ShardAt(std::size_t shard) const;
  // In the four below, `sample` is less than size().
  std::size_t ShardOf(std::uint64_t sample) const;
  // `field` is below fields().size().
  ChosenMember MemberOf(std::uint64_t sample, std::size_t field) const;
  Extent ExtentOf(std::uint64_t sample) const;
  // For people: goes through the shard's keys.
  std::string KeyOf(std::uint64_t sample) const;

  // Whether it is of just these fields of just these shards, in their present
  // versions.
  bool IsOf(const FieldChoice& fields, absl::Span<const Shard> shards) const;

  // By which the shard of that path is known.
  storage::Revision RevisionOf(std::string_view path) const;
  // Looked at again, the shard of that path turned out to have `samples`, in
  // that revision. False, and nothing changes: those are not what it had.
  bool Accept(std::string_view path, const storage::Revision& revision,
              const ShardSamples& samples) const;

  // Bytes of memory.
  std::uint64_t memory() const;
  // The same, of so many shards, members, alternatives, and bytes of text.
  static std::uint64_t Bytes(std::uint64_t shards, std::uint64_t members,
                             std::uint64_t alternatives, std::uint64_t text);

 private:
  ShardIndex(ShardIndexParts parts, FieldChoice fields);

  absl::Status CheckCounts();
  absl::Status CheckShards() const;
  absl::Status CheckSamples() const;
  void Summarize();
  std::uint64_t EndOf(std::size_t shard) const;
  std::string_view PathOf(const ShardRecord& shard) const;
  std::string_view KeysOf(std::size_t shard) const;
  bool HasSamples(std::size_t shard, const ShardSamples& samples) const;

  ShardIndexParts parts_;
  const FieldChoice fields_;
  // Of each field, where its alternative stands among a sample's; kOnlyOne for
  // one that has no others.
  static constexpr std::size_t kOnlyOne = SIZE_MAX;
  std::vector<std::size_t> alternative_places_;
  std::size_t alternatives_each_ = 0;
  std::uint64_t size_ = 0;
  std::vector<std::uint64_t> longest_;  // by field
  std::uint64_t largest_extent_ = 0;
  Version version_ = {};
  // By shard: that of the file that was last seen to be as it was indexed.
  mutable std::vector<std::atomic<std::int64_t>> ctimes_;
};

// Packs the members that were chosen of one more sample, fields.size() many.
// RESOURCE_EXHAUSTED, naming the shard: one is too large, or lies too far
// behind.
absl::Status Pack(const Shard& shard, const FieldChoice& fields,
                  std::string_view key, absl::Span<const ChosenMember> chosen,
                  ShardSamples* samples);

// The index of `shards`, each with its samples, in this order; it keeps its
// part of `memory`. RESOURCE_EXHAUSTED: that of `memory`.
absl::StatusOr<std::shared_ptr<const ShardIndex>> BuildShardIndex(
    const FieldChoice& fields, absl::Span<const Shard> shards,
    std::vector<ShardSamples> samples, base::WorkingMemory& memory);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_INDEX_H_
