#ifndef FOREBAY_SERVER_DATASET_HDF5_ROW_EXTENT_H_
#define FOREBAY_SERVER_DATASET_HDF5_ROW_EXTENT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dataset/hdf5/array_layout.h"
#include "server/dataset/hdf5/chunk_walk.h"
#include "server/dataset/hdf5/file_view.h"
#include "server/dataset/hdf5/global_heap.h"
#include "server/dataset/hdf5/row_key.h"

// The extents that are read of rows. Functions are thread-safe and never block.

namespace forebay::dataset::hdf5 {

// Returns the extent that is to be read of a row, and fills in how the row lies
// in that. If there is nothing to read, it is the file's first byte: each
// record has one. The dataset has these chunks, by number, if it is chunked.
// UNIMPLEMENTED: the parts of a row lie far apart. The error gives the reason
// alone.
absl::StatusOr<ValuePlace> PlaceRow(const FileView& file,
                                    const ArrayLayout& array,
                                    const std::vector<Chunk>& chunks,
                                    std::uint64_t row, RowPlace* place);

// As PlaceRow, of a value of any length.
ValuePlace PlaceValue(const ValuePlace& value, RowPlace* place);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_ROW_EXTENT_H_
