#ifndef FOREBAY_SERVER_DATASET_LMDB_ENTRY_FIELDS_H_
#define FOREBAY_SERVER_DATASET_LMDB_ENTRY_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/dataset/records/record_index.h"
#include "server/dataset/records/value_type.h"
#include "server/dataset/tfrecord/record_fields.h"

namespace forebay::dataset::lmdb {

// The key of an entry, as a field of the sample.
struct KeyField {
  static constexpr std::string_view kName = "key";

  records::ValueType type;
  // Whether the key comes after the value's fields instead of before them.
  bool is_last = false;

  bool operator==(const KeyField&) const = default;
};

// The fields of each entry: its key, the fields that its value holds, or both.
// Immutable and thread-safe; owns what it stores; never blocks. Errors give the
// reason alone.
class EntryFields {
 public:
  // The value is one field, of this type.
  struct Plain {
    static constexpr std::string_view kName = "value";

    records::ValueType type;
  };
  // The value is a Datum (datum.h). The Datum's content, of this type, is the
  // field "image" or "array", and the Datum's label is the field "label".
  struct OfDatum {
    records::ValueType type;
  };
  // The value is an image, and the number of its file is the field "label". The
  // LSUN dataset has an LMDB file for each class.
  struct OfLsun {};
  // The fields of the value. std::monostate: the value has no fields.
  // RecordFields: features of a tf.train.Example.
  using Value = std::variant<std::monostate, Plain, OfDatum, OfLsun,
                             tfrecord::RecordFields>;

  EntryFields(std::optional<KeyField> key, Value value)
      : key_(std::move(key)), value_(std::move(value)) {}

  // Returns a text from which Parse makes equal fields. Different fields have
  // different texts.
  std::string text() const;
  // Makes the fields whose text() is `text`. Fails with DATA_LOSS if there are
  // no such fields.
  static absl::StatusOr<EntryFields> Parse(std::string_view text);

  // Returns the fields. Keys have at most `longest_key` bytes, and the lengths
  // of values are within `lengths`.
  std::vector<Field> FieldsOf(std::uint64_t longest_key,
                              const records::LengthBounds& lengths) const;
  // key_field returns the index of the key's field. file_field returns the
  // index of the field with the number of the file. Both return nothing if
  // there is no such field.
  std::optional<std::size_t> key_field() const;
  std::optional<std::size_t> file_field() const;

  // Fills `values` from an entry's `value`, except for the fields of
  // key_field() and file_field(). The filled values point into `record`, which
  // holds `value`, or into memory that `buffers` keeps. DATA_LOSS: `value` is
  // damaged. INVALID_ARGUMENT: `value` is of another type.
  absl::Status Read(absl::Span<const std::uint8_t> record,
                    absl::Span<const std::uint8_t> value,
                    absl::Span<FieldValue> values, ValueBuffers* buffers) const;

 private:
  // Returns the number of fields that do not come from the key.
  std::size_t ValueFields() const;

  std::optional<KeyField> key_;
  Value value_;
};

}  // namespace forebay::dataset::lmdb

#endif  // FOREBAY_SERVER_DATASET_LMDB_ENTRY_FIELDS_H_
