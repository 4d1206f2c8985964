#ifndef FOREBAY_SERVER_DATASET_HDF5_COLUMN_H_
#define FOREBAY_SERVER_DATASET_HDF5_COLUMN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/dataset/hdf5/array_layout.h"
#include "server/dataset/hdf5/element_type.h"
#include "server/dataset/records/value_type.h"

// The columns of HDF5 files: each is a dataset, or a member of its compounds,
// and has a value in each row. Functions are thread-safe and never block; their
// errors give the reason alone.

namespace forebay::dataset::hdf5 {

struct Column {
  // The dataset's, from the root on: "train/images". Or that of a dataset in
  // each object of a group, "data/*/image": each is a sample's.
  std::string path;
  std::string member;  // empty: all of the dataset's elements
  // Where the member begins in a row; bytes.
  std::uint64_t offset = 0;
  ElementType type;                  // without members and description
  std::vector<std::uint64_t> shape;  // of a row
  records::ValueType value;          // that is made of a row
  // Whether the index keeps its values. Else they are read with the sample.
  bool is_kept = false;

  // That of the field: the path, or what follows "*/" in it.
  std::string name() const;
  bool is_whole() const;  // each sample has a whole dataset
  bool is_variable() const { return type.is_variable(); }
  // Whether values may differ in length.
  bool has_any_length() const;
  // Of a row, unless that is so.
  std::uint64_t value_bytes() const;
  // Of all members together.
  std::uint64_t row_bytes = 0;
};

// Makes the column of a dataset, or of its member of that name, with the value
// type that its type suggests. UNIMPLEMENTED: it has no rows that can be read.
// NOT_FOUND: it has no such member.
absl::StatusOr<Column> ColumnOf(const ArrayLayout& array, std::string path,
                                std::string member);

// Makes the column's values those of that type. INVALID_ARGUMENT: its rows are
// none.
absl::Status SetValueType(const records::ValueType& type, Column* column);

// Checks that a dataset of another file has such a column. INVALID_ARGUMENT: it
// has another one.
absl::Status CheckColumn(const Column& column, const ArrayLayout& array);

// For people: "uint8 (28, 28)".
std::string DescriptionOf(const ElementType& type,
                          const std::vector<std::uint64_t>& shape);

// A text of columns, and the columns of such a text. DATA_LOSS: it is another
// one.
std::string TextOf(const std::vector<Column>& columns);
absl::StatusOr<std::vector<Column>> ParseColumns(std::string_view text);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_COLUMN_H_
