#ifndef FOREBAY_SERVER_DATASET_HDF5_STORED_ROW_H_
#define FOREBAY_SERVER_DATASET_HDF5_STORED_ROW_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/dataset/dataset.h"
#include "server/dataset/hdf5/byte_cursor.h"
#include "server/dataset/hdf5/chunk_cache.h"
#include "server/dataset/hdf5/row_key.h"

// Finds a row in the bytes that were read for it, and undoes filters. Functions
// are thread-safe and own nothing. They block only while another thread uses
// the cache of chunks.

namespace forebay::dataset::hdf5 {

// Returns the bytes of a row; none if the row was not written. `record` has the
// bytes that were read. The row lies in them as `place` says. The result is a
// part of `record`, or of the output buffer that `room` gives. `room` is called
// at most once. The row must have `row_bytes` bytes; if `row_bytes` is 0, the
// row may have any length. Errors: those of ChunkCache and of `room`;
// DATA_LOSS: `place` contradicts what was read.
absl::StatusOr<Bytes> FindRow(const RowPlace& place, std::uint64_t row_bytes,
                              Bytes record, ChunkCache& chunks,
                              DecompressionRoom room);

// Returns the most bytes that FindRow asks `room` for.
std::uint64_t MostRoomOf(const RowPlace& place, std::uint64_t row_bytes);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_STORED_ROW_H_
