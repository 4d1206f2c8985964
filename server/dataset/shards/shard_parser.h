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

// How much to read at a time, in bytes; at least a header. Where the next
// header lies no further off than the last read was long, the next is twice as
// long: reading small files is cheaper than stepping over them. Where it lies
// further off, half as long. The slower a read begins (a network's), the longer
// the shortest should be.
struct ReadSizes {
  std::uint64_t min = 4096;
  std::uint64_t max = std::uint64_t{1} << 18;
};

// Finds the samples of one shard from its headers. It says what to read, and is
// given that.
//
// Not thread-safe; `fields` must outlive it, and `memory`, in which samples are
// counted; never blocks. Errors name the shard: those of TarWalk,
// SampleGrouping, FieldChoice and Pack; RESOURCE_EXHAUSTED, without one: that
// of `memory`.
class ShardParser {
 public:
  static absl::StatusOr<ShardParser> Create(const Shard& shard,
                                            const FieldChoice* fields,
                                            const ReadSizes& read_sizes,
                                            base::WorkingMemory* memory);

  // What to read next, within the shard. Nothing: all samples were found.
  std::optional<TarWalk::Range> next_read() const;

  // Takes what next_read() asked for.
  absl::Status Take(absl::Span<const std::uint8_t> bytes);

  // To be called once, when next_read() is nothing.
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
