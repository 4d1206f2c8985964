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

// Finds the records of an ArrayRecord file in its list of chunks. A record's
// extent is its chunk. In FileRecords::bounds, each field has the bounds of its
// values' lengths. The item after the last field has the bounds of a chunk's
// decompressed bytes.
//
// The parser reads chunks only where the list does not tell the lengths of
// values: if the fields have rows, or if some field varies in length and a
// chunk has several records.
//
// Threads, ownership and blocking are as ObjectParser says. Errors name the
// file. DATA_LOSS: it is not an ArrayRecord file, or is damaged. UNIMPLEMENTED:
// its records are transposed.
class ArrayRecordParser final : public records::RecordParser {
 public:
  // Makes the parser of a file of `size` bytes. `fields` and `memory` outlive
  // the parser. Fails with DATA_LOSS if no ArrayRecord file has that size.
  static absl::StatusOr<std::unique_ptr<records::RecordParser>> Create(
      std::string name, std::uint64_t size, const ReadSizes& read_sizes,
      const tfrecord::RecordFields* fields, base::WorkingMemory* memory);

  std::optional<ByteRange> next_read() const override;
  absl::Status Take(absl::Span<const std::uint8_t> bytes) override;
  records::FileRecords TakeRecords() override { return std::move(records_); }

 private:
  ArrayRecordParser(std::string name, FooterFinder finder,
                    std::uint64_t most_read,
                    const tfrecord::RecordFields* fields,
                    base::WorkingMemory* memory);

  // Whether the parser must read the chunk to learn the lengths of its values.
  bool IsMeasured(const ListedChunk& chunk) const;
  absl::Status Parse(absl::Span<const std::uint8_t> bytes);
  // Adds the records of listed chunks, up to the end of the list. Stops before
  // a chunk that must be measured if it would make the next read too long.
  absl::Status Proceed();
  // Adds the chunk's records. If the chunk is not measured, also adds bounds
  // that hold whatever values the chunk contains.
  absl::Status Add(const ListedChunk& chunk);
  // Measures the values of a chunk, whose bytes in the file are `bytes`. Its
  // first record has the number `first` in the file.
  absl::Status Measure(const ListedChunk& chunk, std::size_t first,
                       absl::Span<const std::uint8_t> bytes);

  const std::string name_;
  FooterFinder finder_;
  const std::uint64_t most_read_;  // most bytes of a read of several chunks
  const tfrecord::RecordFields* const fields_;
  base::WorkingMemory* const memory_;
  const bool has_varying_;           // whether a field's values vary in length
  std::optional<ListedChunk> next_;  // the first chunk not added yet
  // The chunks that the next read measures, each with the number in the file of
  // its first record.
  std::vector<std::pair<ListedChunk, std::size_t>> measured_;
  std::uint64_t largest_ = 0;  // bytes of records in the largest chunk
  records::FileRecords records_;
};

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_ARRAY_RECORD_PARSER_H_
