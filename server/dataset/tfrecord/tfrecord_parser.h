#ifndef FOREBAY_SERVER_DATASET_TFRECORD_TFRECORD_PARSER_H_
#define FOREBAY_SERVER_DATASET_TFRECORD_TFRECORD_PARSER_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/dataset/tfrecord/record_fields.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::tfrecord {

// Finds the records of a TFRecord file by the lengths in their frames. Reads
// the payloads only if it has to measure the values in them.
//
// For threads, ownership and blocking, see ObjectParser. Errors name the file
// and the byte. DATA_LOSS: the file is truncated, or is not a TFRecord file, or
// the CRC of a length does not match.
class TfrecordParser final : public records::RecordParser {
 public:
  // Measures the fields `measured`. If `measured` is null, measures nothing.
  // `measured` and `memory` outlive the parser.
  TfrecordParser(storage::ListedObject file, const ReadSizes& read_sizes,
                 const RecordFields* measured, base::WorkingMemory* memory)
      : file_(std::move(file)),
        read_length_(read_sizes),
        measured_(measured),
        memory_(memory) {}

  std::optional<ByteRange> next_read() const override;
  absl::Status Take(absl::Span<const std::uint8_t> bytes) override;
  absl::Status EndAt(std::uint64_t size) override;
  records::FileRecords TakeRecords() override { return std::move(records_); }

 private:
  std::uint64_t size() const { return file_.version.size; }
  // Returns the range that the parser needs next: the start of a frame, or a
  // whole frame to measure. Returns nothing at the file's end.
  std::optional<ByteRange> wanted() const;
  // Takes the bytes of wanted().
  absl::Status Parse(absl::Span<const std::uint8_t> bytes);
  // Takes the header of a frame, which must end within the file.
  absl::Status ParseHeader(absl::Span<const std::uint8_t> header);
  // Adds a record whose frame has `frame_bytes` bytes. Goes on to the next
  // frame.
  absl::Status Add(std::uint64_t frame_bytes);

  storage::ListedObject file_;
  ReadLength read_length_;
  const RecordFields* const measured_;
  base::WorkingMemory* const memory_;
  std::uint64_t at_ = 0;  // offset of the next record's frame
  // The number of bytes of the frame at at_, while the parser waits for this
  // frame. 0 if it does not.
  std::uint64_t open_ = 0;
  records::FileRecords records_;
};

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_SERVER_DATASET_TFRECORD_TFRECORD_PARSER_H_
