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
#include "server/storage/inflated/packing.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::tfrecord {

// TFRecord files, whose records have these fields. A record's checksum is
// checked whenever it is read.
//
// Threads, ownership, blocking and errors are as RecordFormat says.
class TfrecordFormat final : public records::RecordFormat {
 public:
  explicit TfrecordFormat(RecordFields fields)
      : fields_(std::move(fields)), text_(fields_.text()) {}

  const std::string& text() const override { return text_; }
  absl::StatusOr<std::unique_ptr<records::RecordParser>> Parse(
      const storage::ListedObject& file, const ReadSizes& read_sizes,
      base::WorkingMemory* memory) const override;
  // As TensorFlow's writer compresses them: GZIP or ZLIB.
  bool may_be_packed() const override { return true; }
  std::optional<storage::inflated::Packing> PackingOf(
      absl::Span<const std::uint8_t> start) const override {
    return tfrecord::PackingOf(start);
  }
  std::vector<Field> FieldsOf(const records::RecordIndex& index) const override;
  absl::Status ReadValues(absl::Span<const std::uint8_t> record,
                          absl::Span<FieldValue> values,
                          MadeValues* made) const override;

 private:
  // Whether values differ in length as only the payloads tell.
  bool measures() const { return !fields_.is_payload() && fields_.has_rows(); }

  const RecordFields fields_;
  const std::string text_;
};

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_SERVER_DATASET_TFRECORD_TFRECORD_FORMAT_H_
