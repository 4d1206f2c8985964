#ifndef FOREBAY_SERVER_DATASET_SHARDS_SHARD_SAMPLES_H_
#define FOREBAY_SERVER_DATASET_SHARDS_SHARD_SAMPLES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/shards/field_choice.h"
#include "server/dataset/shards/key_list.h"
#include "server/dataset/shards/shard.h"
#include "server/dataset/shards/tar_header.h"

namespace forebay::dataset::shards {

// Where a field's bytes lie. Data begins at a block behind the first, which is
// a header: block 0 stands for a field that the sample lacks, with the length 1
// if a link stands in its place.
struct MemberRecord {
  static constexpr std::uint64_t kLargestOffset = UINT32_MAX * kTarBlock;
  static constexpr std::uint64_t kLargestLength = UINT32_MAX;

  std::uint32_t block = 0;
  std::uint32_t length = 0;  // bytes

  bool operator==(const MemberRecord&) const = default;
};
static_assert(sizeof(MemberRecord) == 8);

// The samples of one shard, as an index stores them.
struct ShardSamples {
  // The member of each field of each sample.
  std::vector<MemberRecord> members;
  // For each sample, the alternative of each field that has several.
  std::vector<std::uint8_t> alternatives;
  // Bytes of each field that may be compressed once it is inflated, by its end.
  std::vector<std::uint32_t> inflated;
  KeyList keys;

  // Makes room for one more, counted in `memory`. Errors: those of `memory`.
  absl::Status CountOneMore(const FieldChoice& fields,
                            base::WorkingMemory& memory);
};

// Adds a sample's chosen members, one for each field, to `samples`.
// RESOURCE_EXHAUSTED, naming the shard: a member is too large, or its offset
// is.
absl::Status Pack(const Shard& shard, const FieldChoice& fields,
                  std::string_view key, absl::Span<const ChosenMember> chosen,
                  ShardSamples* samples);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_SAMPLES_H_
