#ifndef FOREBAY_SERVER_DATASET_SHARDS_SHARD_PARSER_H_
#define FOREBAY_SERVER_DATASET_SHARDS_SHARD_PARSER_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/shards/field_choice.h"
#include "server/dataset/shards/sample_grouping.h"
#include "server/dataset/shards/shard.h"
#include "server/dataset/shards/shard_samples.h"
#include "server/dataset/shards/tar_walk.h"

namespace forebay::dataset::shards {

// Finds the samples of one shard, by the headers of its tar archive.
//
// For threads, ownership and blocking, see ObjectParser. `memory` counts the
// memory of the samples. `fields` and `memory` outlive the parser. Errors are
// those of TarWalk, SampleGrouping, Pack and `memory`.
class ShardParser final : public ObjectParser {
 public:
  // Begins to parse a shard. `read_sizes` limit the lengths of reads.
  static absl::StatusOr<ShardParser> Create(const Shard& shard,
                                            const FieldChoice* fields,
                                            const ReadSizes& read_sizes,
                                            base::WorkingMemory* memory);

  std::optional<ByteRange> next_read() const override;
  absl::Status Take(absl::Span<const std::uint8_t> bytes) override;
  absl::Status EndAt(std::uint64_t size) override;

  // Checks that each field is in at least one sample. To be called once
  // next_read() returns nothing. INVALID_ARGUMENT, naming the shard's first
  // sample: all samples lack a field.
  absl::Status CheckFields() const;

  // Returns the samples. To be called once, when next_read() returns nothing.
  ShardSamples TakeSamples() { return std::move(samples_); }

 private:
  ShardParser(const Shard& shard, const FieldChoice* fields,
              const ReadSizes& read_sizes, base::WorkingMemory* memory,
              TarWalk walk)
      : shard_(shard),
        fields_(fields),
        read_length_(read_sizes),
        memory_(memory),
        walk_(std::move(walk)),
        grouping_(shard.name, memory),
        lacks_(fields->size()),
        has_(fields->size()) {}

  // Chooses the fields of complete samples, and adds the samples to `samples_`.
  absl::Status Keep(absl::Span<const GroupedSample> samples);
  // Records which fields a sample has and lacks, for CheckFields.
  void NoteLacks(const GroupedSample& sample,
                 absl::Span<const ChosenMember> chosen);

  Shard shard_;
  const FieldChoice* fields_;
  ReadLength read_length_;
  base::WorkingMemory* memory_;
  TarWalk walk_;
  SampleGrouping grouping_;
  ShardSamples samples_;
  // For each field, the error of the first sample that lacks it. Set only if no
  // earlier sample has the field.
  std::vector<absl::Status> lacks_;
  std::vector<bool> has_;  // for each field, whether any sample has it
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_PARSER_H_
