#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_ARRAY_RECORD_FORMAT_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_ARRAY_RECORD_FORMAT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/array_record/chunk_record_cache.h"
#include "server/dataset/dataset.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/dataset/tfrecord/record_fields.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::array_record {

// The format of ArrayRecord files, whose records have the given fields. A
// record is read with all of its chunk. The chunk's hashes are then checked,
// and its records are decompressed, unless ChunkRecordCache already has the
// decompressed records.
//
// For threads, ownership, blocking and errors, see RecordFormat.
class ArrayRecordFormat final : public records::RecordFormat {
 public:
  // Takes the memory of kept chunks from `budget`, which outlives the format.
  // If `budget` is null, no chunk is kept.
  ArrayRecordFormat(tfrecord::RecordFields fields, base::MemoryBudget* budget);
  // Makes the format whose text() is `text`. DATA_LOSS: `text` is not the text
  // of an ArrayRecordFormat.
  static absl::StatusOr<std::shared_ptr<const RecordFormat>> Parse(
      std::string_view text, base::MemoryBudget* budget);

  const std::string& text() const override { return text_; }
  absl::StatusOr<std::unique_ptr<records::RecordParser>> Parse(
      const storage::ListedObject& file, const ReadSizes& read_sizes,
      base::WorkingMemory* memory) const override;
  std::vector<Field> FieldsOf(const records::RecordIndex& index) const override;
  absl::Status ReadValuesOf(const records::RecordIndex& index,
                            std::uint64_t number,
                            absl::Span<const std::uint8_t> record,
                            absl::Span<FieldValue> values,
                            ValueBuffers* buffers) const override;

 private:
  // Returns the bytes of record `number` of the index. `chunk` has the bytes of
  // the record's extent. The result lies in `chunk` or in memory that `buffers`
  // keeps.
  absl::StatusOr<absl::Span<const std::uint8_t>> FindPayload(
      const records::RecordIndex& index, std::uint64_t number,
      absl::Span<const std::uint8_t> chunk, ValueBuffers* buffers) const;

  const tfrecord::RecordFields fields_;
  const std::string text_;
  mutable ChunkRecordCache chunks_;  // a thread-safe cache
};

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_ARRAY_RECORD_FORMAT_H_
