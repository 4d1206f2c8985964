#ifndef FOREBAY_SERVER_DATASET_MDS_MDS_SHARD_H_
#define FOREBAY_SERVER_DATASET_MDS_MDS_SHARD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/mds/mds_columns.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::mds {

// Finds the samples of one shard by the table at the shard's start. The table
// has the number of samples, the start of each sample, and the end of the last
// sample (u32 each). The configuration follows the table.
//
// Threads, ownership and blocking are as ObjectParser says. Errors name the
// shard. DATA_LOSS: the shard is truncated, or is not an MDS shard.
// INVALID_ARGUMENT: the shard has other columns than expected. Other errors are
// those of ParseColumns.
class MdsShardParser final : public records::RecordParser {
 public:
  // Makes the parser of a shard that must have the columns `columns`; if
  // `columns` is null, the shard may have any columns. `columns` and `memory`
  // outlive the parser.
  MdsShardParser(storage::ListedObject file, const ReadSizes& read_sizes,
                 const std::vector<MdsColumn>* columns,
                 base::WorkingMemory* memory)
      : file_(std::move(file)),
        read_length_(read_sizes),
        expected_(columns),
        memory_(memory) {}

  std::optional<ByteRange> next_read() const override;
  absl::Status Take(absl::Span<const std::uint8_t> bytes) override;
  records::FileRecords TakeRecords() override { return std::move(records_); }

  // The columns of the shard; empty until they are parsed.
  const std::vector<MdsColumn>& columns() const { return columns_; }

 private:
  std::uint64_t size() const { return file_.version.size; }
  // Returns the range of `part_`, which the parser needs next; nothing at the
  // end.
  std::optional<ByteRange> wanted() const;
  absl::Status Parse(absl::Span<const std::uint8_t> bytes);
  // ParseStart, ParseOffsets and ParseConfiguration parse one part of the table
  // each, and set `part_` to the next part.
  absl::Status ParseStart(absl::Span<const std::uint8_t> start);
  absl::Status ParseOffsets(absl::Span<const std::uint8_t> offsets);
  absl::Status ParseConfiguration(absl::Span<const std::uint8_t> json);

  // The parts that the parser reads, in the order of the file: the number of
  // samples, the offsets in the table, and the configuration.
  enum class Part { kStart, kOffsets, kColumns, kEnd };

  const storage::ListedObject file_;
  ReadLength read_length_;
  const std::vector<MdsColumn>* const expected_;
  base::WorkingMemory* const memory_;
  Part part_ = Part::kStart;
  std::uint64_t samples_ = 0;    // number of samples
  std::uint64_t table_end_ = 0;  // offset of the configuration
  std::vector<MdsColumn> columns_;
  records::FileRecords records_;
};

}  // namespace forebay::dataset::mds

#endif  // FOREBAY_SERVER_DATASET_MDS_MDS_SHARD_H_
