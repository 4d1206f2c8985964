#ifndef FOREBAY_SERVER_DATASET_SHARDS_SHARD_PARSER_H_
#define FOREBAY_SERVER_DATASET_SHARDS_SHARD_PARSER_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/shards/field_choice.h"
#include "server/dataset/shards/sample_grouping.h"
#include "server/dataset/shards/shard.h"
#include "server/dataset/shards/shard_index.h"
#include "server/dataset/shards/tar_walk.h"

namespace forebay::dataset::shards {

// How much to read at a time, in bytes; at least a header. A read is twice as
// long as the last one if the next header lies no further off than that was
// long: to read small files is cheaper than to step over them. It is half as
// long if the header lies further off. The longer a read takes to begin, as
// over a network, the larger the minimum should be.
struct ReadSizes {
  std::uint64_t min = 4096;
  std::uint64_t max = std::uint64_t{1} << 18;
};

// Finds the samples of one shard from its headers. It reads nothing itself: it
// says what to read, and is given the bytes.
//
// Not thread-safe. `fields` must outlive it, and `memory`, which counts the
// samples. Never blocks. Errors name the shard: those of TarWalk,
// SampleGrouping, FieldChoice and Pack. RESOURCE_EXHAUSTED, without the shard:
// that of `memory`.
class ShardParser {
 public:
  static absl::StatusOr<ShardParser> Create(const Shard& shard,
                                            const FieldChoice* fields,
                                            const ReadSizes& read_sizes,
                                            base::WorkingMemory* memory);

  // Returns what to read next, within the shard; nothing if all samples were
  // found.
  std::optional<TarWalk::Range> next_read() const;

  // Takes the bytes of next_read().
  absl::Status Take(absl::Span<const std::uint8_t> bytes);

  // To be called once, when next_read() returns nothing.
  ShardSamples TakeSamples() { return std::move(samples_); }

 private:
  ShardParser(const Shard& shard, const FieldChoice* fields,
              const ReadSizes& read_sizes, base::WorkingMemory* memory,
              TarWalk walk)
      : shard_(shard),
        fields_(fields),
        read_sizes_(read_sizes),
        read_length_(read_sizes.min),
        memory_(memory),
        walk_(std::move(walk)),
        grouping_(shard.path, memory) {}

  absl::Status Keep(absl::Span<const GroupedSample> found);
  void Adapt(const TarWalk::Range& last);

  Shard shard_;
  const FieldChoice* fields_;
  ReadSizes read_sizes_;
  std::uint64_t read_length_;  // bytes
  base::WorkingMemory* memory_;
  TarWalk walk_;
  SampleGrouping grouping_;
  ShardSamples samples_;
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_PARSER_H_
