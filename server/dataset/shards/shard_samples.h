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

// The place of a field's bytes. Data begins at the start of a tar block, but
// never at block 0, which is a header. So `block` is 0 for a field that the
// sample lacks. In this case `length` is 1 if the sample has a link instead,
// and 0 if it has none.
struct MemberRecord {
  // The largest offset and length that a record can store, in bytes.
  static constexpr std::uint64_t kLargestOffset = UINT32_MAX * kTarBlock;
  static constexpr std::uint64_t kLargestLength = UINT32_MAX;

  std::uint32_t block = 0;  // offset in the shard, in blocks of kTarBlock bytes
  std::uint32_t length = 0;  // bytes

  bool operator==(const MemberRecord&) const = default;
};
static_assert(sizeof(MemberRecord) == 8);

// The samples of one shard, in the form in which an index stores them.
struct ShardSamples {
  // The member of each field of each sample; a sample's fields are consecutive.
  std::vector<MemberRecord> members;
  // For each sample, the chosen alternative of each field that has several.
  std::vector<std::uint8_t> alternatives;
  // For each sample, the decompressed bytes of each field that may be
  // gzip-compressed. For a gzip-compressed member, this is the number that its
  // end states. For other members, it is their length.
  std::vector<std::uint32_t> decompressed;
  KeyList keys;

  // Makes room for one more sample, and counts it in `memory`. Errors: those of
  // `memory`.
  absl::Status CountOneMore(const FieldChoice& fields,
                            base::WorkingMemory& memory);
};

// Adds a sample to `samples`, given its chosen members, one for each field. The
// caller has called CountOneMore for this sample. RESOURCE_EXHAUSTED, naming
// the shard: a member's length or offset is too large for a MemberRecord.
absl::Status Pack(const Shard& shard, const FieldChoice& fields,
                  std::string_view key, absl::Span<const ChosenMember> chosen,
                  ShardSamples* samples);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_SAMPLES_H_
