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

// Computes which bytes of a file are read for a row, and how the row lies in
// them. Functions are thread-safe, own nothing and never block.

namespace forebay::dataset::hdf5 {

// Fills in `place` for a row. Returns the pieces of the file that are read for
// the row, one after the other; none if nothing is read. If the dataset is
// chunked, `chunks` are its chunks by number. UNIMPLEMENTED: too many chunks
// have parts of the row, or decompressing them would take seconds. The error
// gives the reason alone.
absl::StatusOr<std::vector<storage::gathered::Piece>> PlaceRow(
    const FileView& file, const ArrayLayout& array,
    const std::vector<StoredChunk>& chunks, std::uint64_t row, RowPlace* place);

// Fills in `place` for a value of variable length. Returns the piece of the
// file that has the value; none if the value is empty.
std::vector<storage::gathered::Piece> PlaceValue(const ValuePlace& value,
                                                 RowPlace* place);

// Returns one extent of the file that contains all pieces of a row. Changes the
// offsets of the chunks in `place`, so that they count from the extent's start.
// Without pieces, the extent is the file's first byte, because every record
// needs an extent. Returns nothing if the pieces lie too far apart.
std::optional<ValuePlace> JoinPieces(
    const std::vector<storage::gathered::Piece>& pieces, RowPlace* place);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_ROW_EXTENT_H_
