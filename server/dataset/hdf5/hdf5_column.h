#ifndef FOREBAY_SERVER_DATASET_HDF5_HDF5_COLUMN_H_
#define FOREBAY_SERVER_DATASET_HDF5_HDF5_COLUMN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/dataset/hdf5/array_layout.h"
#include "server/dataset/hdf5/element_type.h"
#include "server/dataset/records/value_type.h"

// Describes the columns of HDF5 files. A column is a dataset, or a member of
// its compounds, and has a value in each row. Functions are thread-safe, own
// nothing and never block; their errors give the reason alone.

namespace forebay::dataset::hdf5 {

// A column, which becomes a field of the samples.
struct Hdf5Column {
  // Path of the dataset from the root on: "train/images". In "data/*/image",
  // the asterisk stands for every object of the group "data". Each of these
  // objects is one sample.
  std::string path;
  // Name of the compound's member; if empty, the column is the whole element.
  std::string member;
  // Offset in bytes of the member within a row.
  std::uint64_t offset = 0;
  // Type of the column's values. Its `members` and `description` are empty.
  ElementType type;
  // Extents of one row of the dataset, followed by those of the element type if
  // it is an array.
  std::vector<std::uint64_t> shape;
  // Type of the field that the column becomes.
  records::ValueType value;
  // Whether the index stores the column's values in the keys of the rows. If
  // not, the values are read from the file with each sample.
  bool is_kept = false;

  // Returns the name of the field: the path, or the part of it after "*/", and
  // the member.
  std::string name() const;
  // Whether each sample is a whole dataset: the path has an asterisk.
  bool is_whole() const;
  bool is_variable() const { return type.is_variable(); }
  // Whether the values of different samples may differ in length.
  bool has_any_length() const;
  // Returns the size in bytes of each value, if !has_any_length().
  std::uint64_t value_bytes() const;
  // Bytes of a row of the dataset, with all members.
  std::uint64_t row_bytes = 0;
};

// Makes the column of a dataset, or of its member if `member` is not empty. Its
// `value` is the field type that the element type suggests. UNIMPLEMENTED: the
// dataset has no rows that can be read. NOT_FOUND: the dataset's compounds have
// no such member.
absl::StatusOr<Hdf5Column> ColumnOf(const ArrayLayout& array, std::string path,
                                    std::string member);

// Sets the type of the column's field. INVALID_ARGUMENT: the column's rows
// cannot become a field of that type.
absl::Status SetValueType(const records::ValueType& type, Hdf5Column* column);

// Checks that `array`, the same dataset in another file, gives an equal column.
// INVALID_ARGUMENT: the rows of `array` differ.
absl::Status CheckColumn(const Hdf5Column& column, const ArrayLayout& array);

// Describes a type and a shape for messages to people: "uint8 (28, 28)".
std::string DescriptionOf(const ElementType& type,
                          const std::vector<std::uint64_t>& shape);

// Returns a JSON text from which ParseColumns makes equal columns.
std::string TextOf(const std::vector<Hdf5Column>& columns);
// Parses a text that TextOf has returned. DATA_LOSS: TextOf cannot have
// returned the text. The text comes from an index on disk, so everything in it
// is checked.
absl::StatusOr<std::vector<Hdf5Column>> ParseColumns(std::string_view text);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_HDF5_COLUMN_H_
