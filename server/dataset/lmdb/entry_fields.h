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

// The key of an entry as a field.
struct KeyField {
  static constexpr std::string_view kName = "key";

  records::ValueType type;
  bool is_last = false;  // behind the value's fields, or before them

  bool operator==(const KeyField&) const = default;
};

// The fields of each entry: its key, or what its value holds, or both.
// Immutable and thread-safe; never blocks. Errors give the reason alone.
class EntryFields {
 public:
  // The value itself, as one field.
  struct Plain {
    static constexpr std::string_view kName = "value";

    records::ValueType type;
  };
  // The content of a Datum of that type (datum.h), as the field "image" or
  // "array", and its label.
  struct OfDatum {
    records::ValueType type;
  };
  // An image, and the number of its file as the field "label": LSUN has an
  // environment for each class.
  struct OfLsun {};
  // Nothing; or features of tf.train.Examples.
  using Value = std::variant<std::monostate, Plain, OfDatum, OfLsun,
                             tfrecord::RecordFields>;

  EntryFields(std::optional<KeyField> key, Value value)
      : key_(std::move(key)), value_(std::move(value)) {}

  // Text that tells apart fields, and of which Parse makes them again.
  std::string text() const;
  // DATA_LOSS: the text is another.
  static absl::StatusOr<EntryFields> Parse(std::string_view text);

  // Fields of entries whose keys have at most `longest_key` bytes, and their
  // values have these lengths.
  std::vector<Field> FieldsOf(std::uint64_t longest_key,
                              const records::LengthBounds& lengths) const;
  // The number of the key's field, and of the file's number.
  std::optional<std::size_t> key_field() const;
  std::optional<std::size_t> file_field() const;

  // Fills `values` with what a value has of each field, but for those two. They
  // point into `record`, which holds it, and into what was made. Errors are
  // those of its formats: DATA_LOSS: it is damaged; INVALID_ARGUMENT: it is of
  // another type.
  absl::Status Read(absl::Span<const std::uint8_t> record,
                    absl::Span<const std::uint8_t> value,
                    absl::Span<FieldValue> values, MadeValues* made) const;

 private:
  std::size_t ValueFields() const;

  std::optional<KeyField> key_;
  Value value_;
};

}  // namespace forebay::dataset::lmdb

#endif  // FOREBAY_SERVER_DATASET_LMDB_ENTRY_FIELDS_H_
