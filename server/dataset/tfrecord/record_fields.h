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

struct RecordField {
  std::string name;
  records::ValueType type;

  bool operator==(const RecordField&) const = default;
};

// The fields of each record: features of its payload, an Example or a
// SequenceExample, or that payload itself. Immutable and thread-safe; never
// blocks. Errors give the reason alone.
class RecordFields {
 public:
  // The field of a payload that is no Example.
  static constexpr std::string_view kPayload = "record";

  // Features by name, each with a type (records/value_type.h).
  // INVALID_ARGUMENT: there are none or too many, or one is malformed or comes
  // twice.
  static absl::StatusOr<RecordFields> OfExamples(
      absl::Span<const std::string> names, absl::Span<const std::string> types);
  // The payload, of that type. INVALID_ARGUMENT: it is none.
  static absl::StatusOr<RecordFields> OfPayload(std::string_view type);

  // Text that tells apart fields, and of which Parse makes them again.
  std::string text() const;
  // DATA_LOSS: the text is another.
  static absl::StatusOr<RecordFields> Parse(std::string_view text);

  bool is_payload() const { return is_payload_; }
  const std::vector<RecordField>& fields() const { return fields_; }
  // Whether all records must be read before their longest values are known.
  bool has_rows() const;

  // Fills `values` with what a payload has of each. They point into it, as
  // parts of `record` that holds it, and into what was made. DATA_LOSS: the
  // payload is damaged, or lacks a field, which the error names.
  // INVALID_ARGUMENT, naming the field: it is of another type.
  absl::Status Read(absl::Span<const std::uint8_t> record,
                    absl::Span<const std::uint8_t> payload,
                    absl::Span<FieldValue> values, MadeValues* made) const;
  // Adds the lengths of the payload's values to the `bounds` of each field.
  // Does nothing if the payload is malformed: it will be when it is read.
  void Measure(absl::Span<const std::uint8_t> payload,
               std::vector<records::LengthBounds>* bounds) const;

 private:
  class Reader;

  std::vector<RecordField> fields_;
  bool is_payload_ = false;
};

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_SERVER_DATASET_TFRECORD_RECORD_FIELDS_H_
