#ifndef FOREBAY_SERVER_DATASET_RECORDS_RECORD_FORMAT_H_
#define FOREBAY_SERVER_DATASET_RECORDS_RECORD_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/records/record_index.h"
#include "server/storage/byte_source.h"
#include "server/storage/compressed/compression.h"
#include "server/storage/gathered/pieces.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::records {

// Finds the records of one file. For threads, ownership, blocking and errors,
// see ObjectParser.
class RecordParser : public ObjectParser {
 public:
  // Returns the records. To be called once, when next_read() returns nothing.
  virtual FileRecords TakeRecords() = 0;
};

// Says how a dataset's records lie in its files, and which fields they have.
//
// Immutable and thread-safe. Datasets of the same format share it. Never
// blocks. Errors do not name the file, unless a method says otherwise.
class RecordFormat {
 public:
  virtual ~RecordFormat() = default;

  // Returns a text that describes this format. Different formats have different
  // texts, and an equal format can be made from the text.
  virtual const std::string& text() const = 0;
  // Makes the parser of a file. The parser counts the records that it finds in
  // `memory`. The format and `memory` outlive the parser. DATA_LOSS, naming the
  // file: it is not a file of this format.
  virtual absl::StatusOr<std::unique_ptr<RecordParser>> Parse(
      const storage::ListedObject& file, const ReadSizes& read_sizes,
      base::WorkingMemory* memory) const = 0;
  // Whether files may be compressed as a whole. If so, parsers must accept
  // files of kUnknownSize, too.
  virtual bool may_be_compressed() const { return false; }
  // Returns how a file that begins with these bytes is compressed, as
  // InnerFormat::compression_of does. Only called if may_be_compressed().
  virtual std::optional<storage::compressed::Compression> CompressionOf(
      absl::Span<const std::uint8_t>) const {
    return std::nullopt;
  }
  // Whether files have transaction ids.
  virtual bool has_transaction_ids() const { return false; }
  // Finds a file's transaction id as ObjectLayout::FindTransactionId does. Only
  // called if has_transaction_ids().
  virtual std::optional<std::uint64_t> FindTransactionId(
      const storage::ObjectLayout::ReadPart&) const {
    return std::nullopt;
  }
  // Returns the fields of an index that was built with this format's parsers.
  virtual std::vector<Field> FieldsOf(const RecordIndex& index) const = 0;
  // Finds the fields' values in a record, as Dataset::ReadValues does. `record`
  // is the whole extent. A format overrides either ReadValues or ReadValuesOf.
  virtual absl::Status ReadValues(absl::Span<const std::uint8_t> record,
                                  absl::Span<FieldValue> values,
                                  ValueBuffers* buffers) const;
  // Does the same as ReadValues for record number `number` of `index`. A format
  // overrides this method if it needs the number to find the record in its
  // extent.
  virtual absl::Status ReadValuesOf(const RecordIndex& index,
                                    std::uint64_t number,
                                    absl::Span<const std::uint8_t> record,
                                    absl::Span<FieldValue> values,
                                    ValueBuffers* buffers) const;
  // `bytes` has an upper bound of the bytes of each field's value in a record.
  // Lowers each bound to the best one that the index has. Returns false if the
  // caller must also bound values by the record's length. In this case each
  // value is a part of the record, or consists of numbers that take at least a
  // byte each in the record.
  virtual bool LowerBytes(const RecordIndex&, std::uint64_t,
                          absl::Span<std::uint64_t>) const {
    return false;
  }
  // Returns the pieces from which the record with the given key is gathered
  // (see FileRecords::ends). DATA_LOSS: the key does not describe pieces.
  virtual absl::StatusOr<std::vector<storage::gathered::Piece>> PiecesOf(
      std::string_view) const {
    return absl::DataLossError("is indexed as if it lay in pieces");
  }
  // Whether values may lie outside their record's extent. If so, different
  // records may have the same extent.
  virtual bool has_values_elsewhere() const { return false; }
  // Returns the number of the field whose value is the record's key. The index
  // knows the key, so ReadValues does not set this field. Returns nothing if
  // there is no such field.
  virtual std::optional<std::size_t> key_field() const { return std::nullopt; }
  // Returns the number of the field whose value is the number of the record's
  // file. ReadValues does not set this field. Returns nothing if there is no
  // such field.
  virtual std::optional<std::size_t> file_field() const { return std::nullopt; }
  // Returns the number of the field whose value is the class of the record's
  // file (see FileClasses). ReadValues does not set this field. Returns nothing
  // if there is no such field.
  virtual std::optional<std::size_t> class_field() const {
    return std::nullopt;
  }
  // Returns a record's name, for messages.
  virtual std::string NameOf(const RecordIndex& index,
                             std::uint64_t record) const;
};

inline absl::Status RecordFormat::ReadValues(absl::Span<const std::uint8_t>,
                                             absl::Span<FieldValue>,
                                             ValueBuffers*) const {
  return absl::InternalError("has records that are known by number alone");
}
inline absl::Status RecordFormat::ReadValuesOf(
    const RecordIndex&, std::uint64_t, absl::Span<const std::uint8_t> record,
    absl::Span<FieldValue> values, ValueBuffers* buffers) const {
  return ReadValues(record, values, buffers);
}
inline std::string RecordFormat::NameOf(const RecordIndex& index,
                                        std::uint64_t record) const {
  return absl::StrCat("record ", index.ExtentOf(record).record);
}

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_RECORD_FORMAT_H_
