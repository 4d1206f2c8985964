#ifndef FOREBAY_SERVER_DATASET_TFRECORD_TFRECORD_FORMAT_H_
#define FOREBAY_SERVER_DATASET_TFRECORD_TFRECORD_FORMAT_H_

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
#include "server/dataset/dataset.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/dataset/tfrecord/framing.h"
#include "server/dataset/tfrecord/record_fields.h"
#include "server/storage/compressed/compression.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::tfrecord {

// The format of TFRecord files whose records have the given fields. A record's
// extent is its frame. Its CRCs are checked whenever the record is read.
//
// For threads, ownership, blocking and errors, see RecordFormat.
class TfrecordFormat final : public records::RecordFormat {
 public:
  explicit TfrecordFormat(RecordFields fields)
      : fields_(std::move(fields)), text_(fields_.text()) {}

  const std::string& text() const override { return text_; }
  absl::StatusOr<std::unique_ptr<records::RecordParser>> Parse(
      const storage::ListedObject& file, const ReadSizes& read_sizes,
      base::WorkingMemory* memory) const override;
  // Files may be compressed as a whole: TensorFlow's writer writes such files
  // for the options GZIP and ZLIB.
  bool may_be_compressed() const override { return true; }
  std::optional<storage::compressed::Compression> CompressionOf(
      absl::Span<const std::uint8_t> start) const override {
    return tfrecord::CompressionOf(start);
  }
  std::vector<Field> FieldsOf(const records::RecordIndex& index) const override;
  absl::Status ReadValues(absl::Span<const std::uint8_t> record,
                          absl::Span<FieldValue> values,
                          ValueBuffers* buffers) const override;

 private:
  // Whether the scan must read the payloads, to measure arrays whose first axis
  // may have any length.
  bool measures() const { return !fields_.is_payload() && fields_.has_rows(); }

  const RecordFields fields_;
  const std::string text_;
};

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_SERVER_DATASET_TFRECORD_TFRECORD_FORMAT_H_
