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

// Finds the records of a TFRecord file by the lengths before them. Sees their
// payloads only if that is wanted, for the lengths of the values there.
//
// Threads, ownership and blocking are as ObjectParser says. Errors name the
// file and the byte: DATA_LOSS: it is truncated, a checksum of a length does
// not match, or it is no such file.
class TfrecordParser final : public records::RecordParser {
 public:
  // Measures with `measured`, unless it is null. It outlives the parser, and so
  // does `memory`.
  TfrecordParser(storage::ListedObject file, const ReadSizes& read_sizes,
                 const RecordFields* measured, base::WorkingMemory* memory)
      : file_(std::move(file)),
        read_length_(read_sizes),
        measured_(measured),
        memory_(memory) {}

  std::optional<ByteRange> next_read() const override;
  absl::Status Take(absl::Span<const std::uint8_t> bytes) override;
  absl::Status EndAt(std::uint64_t size) override;
  records::FileRecords TakeRecords() override { return std::move(found_); }

 private:
  std::uint64_t size() const { return file_.version.size; }
  // Returns the bytes that it must see next.
  std::optional<ByteRange> wanted() const;
  absl::Status See(absl::Span<const std::uint8_t> bytes);
  absl::Status SeeHeader(absl::Span<const std::uint8_t> header);
  absl::Status Add(std::uint64_t frame_bytes);

  storage::ListedObject file_;
  ReadLength read_length_;
  const RecordFields* const measured_;
  base::WorkingMemory* const memory_;
  std::uint64_t at_ = 0;  // where the next record begins; bytes
  // Bytes of that record and its frame, while its payload is wanted; else 0.
  std::uint64_t open_ = 0;
  records::FileRecords found_;
};

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_SERVER_DATASET_TFRECORD_TFRECORD_PARSER_H_
