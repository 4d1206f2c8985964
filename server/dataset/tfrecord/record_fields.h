#ifndef FOREBAY_SERVER_DATASET_TFRECORD_RECORD_FIELDS_H_
#define FOREBAY_SERVER_DATASET_TFRECORD_RECORD_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/dataset/records/record_index.h"
#include "server/dataset/records/value_type.h"

namespace forebay::dataset::tfrecord {

// A field of records: the name of a feature, or kPayload, and the field's type.
struct TfrecordField {
  std::string name;
  records::ValueType type;

  bool operator==(const TfrecordField&) const = default;
};

// The fields of each record. They are features of its payload, which is an
// Example or a SequenceExample. If is_payload(), the payload itself is the only
// field. Immutable and thread-safe; owns what it stores; never blocks. Errors
// do not name the file.
class RecordFields {
 public:
  // Name of the field that is the whole payload.
  static constexpr std::string_view kPayload = "record";

  // Chooses features by name, each with a type (records/value_type.h).
  // INVALID_ARGUMENT: there are no features or too many; or a name or type is
  // malformed; or a name comes twice.
  static absl::StatusOr<RecordFields> OfExamples(
      absl::Span<const std::string> names, absl::Span<const std::string> types);
  // Chooses the payload, as one field of the type `type`. INVALID_ARGUMENT:
  // `type` does not name a type.
  static absl::StatusOr<RecordFields> OfPayload(std::string_view type);

  // Returns a text from which Parse makes equal fields. Different fields have
  // different texts.
  std::string text() const;
  // Makes fields from their text(). DATA_LOSS: `text` is not the text() of any
  // fields.
  static absl::StatusOr<RecordFields> Parse(std::string_view text);

  bool is_payload() const { return is_payload_; }
  const std::vector<TfrecordField>& fields() const { return fields_; }
  // Whether any field is an array whose first axis may have any length. Only
  // the payloads tell how long the longest array is.
  bool has_rows() const;

  // Fills `values` with each field's value, from a payload. The values point
  // into `record`, which holds the payload, or into bytes that `buffers` keeps.
  // DATA_LOSS: the payload is damaged, or lacks a field. INVALID_ARGUMENT: a
  // value has another type than its field. Errors of a field name the field.
  absl::Status Read(absl::Span<const std::uint8_t> record,
                    absl::Span<const std::uint8_t> payload,
                    absl::Span<FieldValue> values, ValueBuffers* buffers) const;
  // Adds the length of each field's value in the payload, in bytes, to the
  // field's `bounds`. Ignores a malformed payload: Read will report its error.
  void Measure(absl::Span<const std::uint8_t> payload,
               std::vector<records::LengthBounds>* bounds) const;

 private:
  class Reader;

  std::vector<TfrecordField> fields_;
  bool is_payload_ = false;
};

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_SERVER_DATASET_TFRECORD_RECORD_FIELDS_H_
