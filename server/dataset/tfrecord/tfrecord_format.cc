#include "server/dataset/tfrecord/tfrecord_format.h"

#include <algorithm>
#include <cstddef>

#include "server/base/status.h"
#include "server/dataset/records/whole_value.h"
#include "server/dataset/tfrecord/framing.h"
#include "server/dataset/tfrecord/tfrecord_parser.h"

namespace forebay::dataset::tfrecord {

absl::StatusOr<std::unique_ptr<records::RecordParser>> TfrecordFormat::Parse(
    const storage::ListedObject& file, const ReadSizes& read_sizes,
    base::WorkingMemory* memory) const {
  return std::make_unique<TfrecordParser>(
      file, read_sizes, measures() ? &fields_ : nullptr, memory);
}

std::vector<Field> TfrecordFormat::FieldsOf(
    const records::RecordIndex& index) const {
  // The longest payload is an upper bound of all values except labels and
  // arrays with rows. A label takes eight bytes. An array's elements may take
  // fewer bytes in the payload, where they are varints. So the scan has
  // measured arrays with rows.
  const std::uint64_t payload =
      std::max(index.longest(), kFrameBytes) - kFrameBytes;
  std::vector<Field> fields;
  for (std::size_t i = 0; i < fields_.fields().size(); ++i) {
    const TfrecordField& field = fields_.fields()[i];
    std::uint64_t longest = payload;
    if (field.type.has_rows && i < index.bounds().size()) {
      longest = index.bounds()[i].longest;
    } else if (field.type.kind == proto::FieldKind::kLabel &&
               !fields_.is_payload()) {
      longest = sizeof(std::int64_t);
    }
    fields.push_back(records::FieldOf(field.name, field.type, longest));
  }
  return fields;
}

absl::Status TfrecordFormat::ReadValues(absl::Span<const std::uint8_t> record,
                                        absl::Span<FieldValue> values,
                                        ValueBuffers* buffers) const {
  if (record.size() < kFrameBytes)
    return absl::DataLossError("is not a TFRecord file");
  FOREBAY_ASSIGN_OR_RETURN(const auto payload, PayloadOf(record));
  return fields_.Read(record, payload, values, buffers);
}

}  // namespace forebay::dataset::tfrecord
