#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_ARRAY_RECORD_PARSER_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_ARRAY_RECORD_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/array_record/footer.h"
#include "server/dataset/array_record/footer_finder.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/dataset/tfrecord/record_fields.h"

namespace forebay::dataset::array_record {

// Finds the records of an ArrayRecord file by its list of chunks. A record's
// extent is its chunk. The bounds that it finds are those of the fields'
// values, and last that of the bytes of a chunk's records.
//
// Chunks themselves are read only where the list does not tell how long values
// are: if the fields have rows, or if some vary in length and a chunk has
// several records.
//
// Threads, ownership and blocking are as ObjectParser says. Errors name the
// file: DATA_LOSS: it is no ArrayRecord file, or damaged; UNIMPLEMENTED: its
// records are transposed.
class ArrayRecordParser final : public records::RecordParser {
 public:
  // Fields and memory outlive it. DATA_LOSS: no ArrayRecord file has that size.
  static absl::StatusOr<std::unique_ptr<records::RecordParser>> Create(
      std::string name, std::uint64_t size, const ReadSizes& read_sizes,
      const tfrecord::RecordFields* fields, base::WorkingMemory* memory);

  std::optional<ByteRange> next_read() const override;
  absl::Status Take(absl::Span<const std::uint8_t> bytes) override;
  records::FileRecords TakeRecords() override { return std::move(found_); }

 private:
  ArrayRecordParser(std::string name, FooterFinder finder,
                    std::uint64_t most_read,
                    const tfrecord::RecordFields* fields,
                    base::WorkingMemory* memory);

  bool IsMeasured(const ListedChunk& chunk) const;
  absl::Status See(absl::Span<const std::uint8_t> bytes);
  absl::Status Proceed();
  absl::Status Add(const ListedChunk& chunk);
  absl::Status Measure(const ListedChunk& chunk, std::size_t first,
                       absl::Span<const std::uint8_t> bytes);

  const std::string name_;
  FooterFinder finder_;
  const std::uint64_t most_read_;  // bytes
  const tfrecord::RecordFields* const fields_;
  base::WorkingMemory* const memory_;
  const bool has_varying_;  // fields
  std::optional<ListedChunk> next_;
  // By the next read: chunks, and the numbers of their first records.
  std::vector<std::pair<ListedChunk, std::size_t>> measured_;
  std::uint64_t largest_ = 0;  // bytes of a chunk's records
  records::FileRecords found_;
};

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_ARRAY_RECORD_PARSER_H_
