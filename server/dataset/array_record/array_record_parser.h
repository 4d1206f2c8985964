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
// extent is its chunk. FileRecords::bounds has an item for each field: the
// bounds of the lengths of its values. A further item at the end has the bounds
// of a chunk's decompressed bytes.
//
// The parser reads a chunk only if the list does not tell the lengths of
// values. This is so if a field has rows, or if a field varies in length and
// the chunk has several records.
//
// For threads, ownership and blocking, see ObjectParser. Errors name the file.
// DATA_LOSS: it is not an ArrayRecord file, or is damaged. UNIMPLEMENTED: its
// records are transposed.
class ArrayRecordParser final : public records::RecordParser {
 public:
  // Makes the parser of a file of `size` bytes. `fields` and `memory` outlive
  // the parser. DATA_LOSS: no ArrayRecord file has that size.
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
  // Adds the records of listed chunks, in order. Stops at the end of the list,
  // or before a measured chunk with which the next read would be too long.
  absl::Status Proceed();
  // Adds the chunk's records. If the chunk is not measured, also adds bounds
  // that are wide enough for any values in it.
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
  // The chunks to measure in the next read. With each chunk comes the number of
  // its first record in the file.
  std::vector<std::pair<ListedChunk, std::size_t>> measured_;
  std::uint64_t largest_ = 0;  // bytes of records in the largest chunk
  records::FileRecords records_;
};

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_ARRAY_RECORD_PARSER_H_
