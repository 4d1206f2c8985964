#ifndef FOREBAY_SERVER_DATASET_HDF5_ROW_VALUE_H_
#define FOREBAY_SERVER_DATASET_HDF5_ROW_VALUE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/dataset/dataset.h"
#include "server/dataset/hdf5/byte_cursor.h"
#include "server/dataset/hdf5/hdf5_column.h"

namespace forebay::dataset::hdf5 {

// Returns the value of a column in a row. `bytes` are the column's bytes, and
// `read` has all bytes that were read for the sample. The value points into
// `read` only if `bytes` do. Every other value is returned as a number or
// points into `buffers`, so that `bytes` need not outlive the call. The error
// gives the reason alone. DATA_LOSS: `bytes` are not a value of the column.
// Thread-safe; owns nothing; never blocks.
absl::StatusOr<FieldValue> RowValue(const Hdf5Column& column, Bytes bytes,
                                    Bytes read, ValueBuffers* buffers);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_ROW_VALUE_H_
