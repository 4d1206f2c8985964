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
#include "server/storage/gathered/pieces.h"
#include "server/storage/inflated/packing.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::records {

// Finds the records of one file. Is used as ObjectParser says.
class RecordParser : public ObjectParser {
 public:
  // To be called once, when next_read() returns nothing.
  virtual FileRecords TakeRecords() = 0;
};

// How a dataset's records lie in files, and what fields they have.
//
// Immutable and thread-safe. Shared by the datasets of that format. Never
// blocks. Errors give the reason alone.
class RecordFormat {
 public:
  virtual ~RecordFormat() = default;

  // Text that tells formats apart, and that such a format can be made of again.
  virtual const std::string& text() const = 0;
  // Makes the parser of a file, which counts in `memory` what it finds. Both
  // the format and `memory` outlive it. DATA_LOSS, naming the file: it is no
  // such file.
  virtual absl::StatusOr<std::unique_ptr<RecordParser>> Parse(
      const storage::ListedObject& file, const ReadSizes& read_sizes,
      base::WorkingMemory* memory) const = 0;
  // Whether files may be compressed as a whole. Then how one is that begins so:
  // see inflated::InnerFormat. Its parsers take files of kUnknownSize.
  virtual bool may_be_packed() const { return false; }
  virtual std::optional<storage::inflated::Packing> PackingOf(
      absl::Span<const std::uint8_t>) const {
    return std::nullopt;
  }
  // Whether files have marks. Then as ObjectLayout::FindMark.
  virtual bool has_marks() const { return false; }
  virtual std::optional<std::uint64_t> FindMark(
      const storage::ObjectLayout::ReadPart&) const {
    return std::nullopt;
  }
  // The fields of an index that was made with such parsers.
  virtual std::vector<Field> FieldsOf(const RecordIndex& index) const = 0;
  // Finds the fields' values in a record, as Dataset::ReadValues says. `record`
  // is all of its extent. One of both is to be overridden: the second if the
  // record's number in the index says where it lies in its extent.
  virtual absl::Status ReadValues(absl::Span<const std::uint8_t> record,
                                  absl::Span<FieldValue> values,
                                  MadeValues* made) const;
  virtual absl::Status ReadValuesOf(const RecordIndex& index,
                                    std::uint64_t number,
                                    absl::Span<const std::uint8_t> record,
                                    absl::Span<FieldValue> values,
                                    MadeValues* made) const;
  // Lowers each of `bytes` to what the field has in that record at most, as far
  // as the index tells. Returns false if a value is a part of its record, or
  // numbers that take at least a byte each there: then that bounds it.
  virtual bool LowerBytes(const RecordIndex&, std::uint64_t,
                          absl::Span<std::uint64_t>) const {
    return false;
  }
  // Returns the pieces of which the record with that key is gathered, if it is:
  // see FileRecords. DATA_LOSS: the key tells of none.
  virtual absl::StatusOr<std::vector<storage::gathered::Piece>> PiecesOf(
      std::string_view) const {
    return absl::DataLossError("is indexed as if it lay in pieces");
  }
  // Whether values may lie elsewhere than in their record's extent. Then even
  // records that have nothing in common may share one.
  virtual bool has_values_elsewhere() const { return false; }
  // The number of the field that is the record's key, by which the index knows
  // it. ReadValues leaves that out.
  virtual std::optional<std::size_t> key_field() const { return std::nullopt; }
  // Likewise, of the field that is the number of the record's file.
  virtual std::optional<std::size_t> file_field() const { return std::nullopt; }
  // Likewise, of the field that is the class of the record's file: see
  // FileClasses.
  virtual std::optional<std::size_t> class_field() const {
    return std::nullopt;
  }
  // For people: a record, as the index knows it.
  virtual std::string NameOf(const RecordIndex& index,
                             std::uint64_t record) const;
};

inline absl::Status RecordFormat::ReadValues(absl::Span<const std::uint8_t>,
                                             absl::Span<FieldValue>,
                                             MadeValues*) const {
  return absl::InternalError("has records that are known by number alone");
}
inline absl::Status RecordFormat::ReadValuesOf(
    const RecordIndex&, std::uint64_t, absl::Span<const std::uint8_t> record,
    absl::Span<FieldValue> values, MadeValues* made) const {
  return ReadValues(record, values, made);
}
inline std::string RecordFormat::NameOf(const RecordIndex& index,
                                        std::uint64_t record) const {
  return absl::StrCat("record ", index.ExtentOf(record).record);
}

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_RECORD_FORMAT_H_
