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

// Finds the samples of one shard by the table at its start: their number, where
// each begins and the last one ends (u32 each), and the configuration.
//
// Threads, ownership and blocking are as ObjectParser says. Errors name the
// shard: DATA_LOSS: it is truncated, or no such shard; INVALID_ARGUMENT: its
// columns are others than are expected; those of ParseColumns.
class MdsShardParser final : public records::RecordParser {
 public:
  // Expects `columns`, unless it is null. It outlives the parser, and so does
  // `memory`.
  MdsShardParser(storage::ListedObject file, const ReadSizes& read_sizes,
                 const std::vector<Column>* columns,
                 base::WorkingMemory* memory)
      : file_(std::move(file)),
        read_length_(read_sizes),
        expected_(columns),
        memory_(memory) {}

  std::optional<ByteRange> next_read() const override;
  absl::Status Take(absl::Span<const std::uint8_t> bytes) override;
  records::FileRecords TakeRecords() override { return std::move(found_); }

  // Those of the shard, once it was parsed.
  const std::vector<Column>& columns() const { return columns_; }

 private:
  std::uint64_t size() const { return file_.version.size; }
  std::optional<ByteRange> wanted() const;
  absl::Status See(absl::Span<const std::uint8_t> bytes);
  absl::Status SeeStart(absl::Span<const std::uint8_t> start);
  absl::Status SeeOffsets(absl::Span<const std::uint8_t> offsets);
  absl::Status SeeColumns(absl::Span<const std::uint8_t> json);

  // The parts of the table, in their order.
  enum class Part { kStart, kOffsets, kColumns, kEnd };

  const storage::ListedObject file_;
  ReadLength read_length_;
  const std::vector<Column>* const expected_;
  base::WorkingMemory* const memory_;
  Part part_ = Part::kStart;
  std::uint64_t samples_ = 0;
  std::uint64_t table_end_ = 0;  // where the configuration begins; bytes
  std::vector<Column> columns_;
  records::FileRecords found_;
};

}  // namespace forebay::dataset::mds

#endif  // FOREBAY_SERVER_DATASET_MDS_MDS_SHARD_H_
