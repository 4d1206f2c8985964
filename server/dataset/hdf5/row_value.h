#ifndef FOREBAY_SERVER_DATASET_HDF5_ROW_VALUE_H_
#define FOREBAY_SERVER_DATASET_HDF5_ROW_VALUE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/dataset/dataset.h"
#include "server/dataset/hdf5/column.h"
#include "server/dataset/hdf5/cursor.h"

namespace forebay::dataset::hdf5 {

// Returns the value that a column has in a row, which has these bytes of it.
// They point into `read`, or they go as soon as this returns: then `read` is
// empty. The value points into `read`, or into what was made. The error gives
// the reason alone: DATA_LOSS: they are no such value. Thread-safe; never
// blocks.
absl::StatusOr<FieldValue> RowValue(const Column& column, Bytes bytes,
                                    Bytes read, MadeValues* made);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_ROW_VALUE_H_
