#ifndef FOREBAY_SERVER_DATASET_HDF5_ROW_EXTENT_H_
#define FOREBAY_SERVER_DATASET_HDF5_ROW_EXTENT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dataset/hdf5/array_layout.h"
#include "server/dataset/hdf5/chunk_walk.h"
#include "server/dataset/hdf5/file_view.h"
#include "server/dataset/hdf5/global_heap.h"
#include "server/dataset/hdf5/row_key.h"
#include "server/storage/gathered/pieces.h"

// The bytes that are read of rows. Functions are thread-safe and never block.

namespace forebay::dataset::hdf5 {

// Fills in how a row lies in what is read of it, and returns the pieces of the
// file that are read, one behind the other; none if nothing is. The dataset has
// these chunks, by number, if it is chunked. UNIMPLEMENTED: too many chunks
// have parts of the row. The error gives the reason alone.
absl::StatusOr<std::vector<storage::gathered::Piece>> PlaceRow(
    const FileView& file, const ArrayLayout& array,
    const std::vector<Chunk>& chunks, std::uint64_t row, RowPlace* place);

// As PlaceRow, of a value of any length.
std::vector<storage::gathered::Piece> PlaceValue(const ValuePlace& value,
                                                 RowPlace* place);

// Returns an extent of the file that has all pieces of a row, and fills in how
// the row lies in that. If there are none, it is the file's first byte: each
// record has one. Nothing: the pieces lie far apart.
std::optional<ValuePlace> JoinPieces(
    const std::vector<storage::gathered::Piece>& pieces, RowPlace* place);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_ROW_EXTENT_H_
