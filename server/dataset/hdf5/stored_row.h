#ifndef FOREBAY_SERVER_DATASET_HDF5_STORED_ROW_H_
#define FOREBAY_SERVER_DATASET_HDF5_STORED_ROW_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/dataset/dataset.h"
#include "server/dataset/hdf5/chunk_cache.h"
#include "server/dataset/hdf5/cursor.h"
#include "server/dataset/hdf5/row_key.h"

// A row as it lies in what was read of it. Functions are thread-safe. They
// block only for another thread that looks for a chunk that is kept.

namespace forebay::dataset::hdf5 {

// Returns the row's bytes, if any were written: a part of `record`, all of
// which lies there as `place` says, or of the room. That is asked for once at
// most. The row has `row_bytes` bytes, or any number if that is 0. Errors:
// DATA_LOSS: there is no such row; those of ChunkCache and of the room.
absl::StatusOr<Bytes> FindRow(const RowPlace& place, std::uint64_t row_bytes,
                              Bytes record, ChunkCache& chunks,
                              UnpackRoom room);

// Bytes of the room that FindRow asks for, at most.
std::uint64_t MostRoomOf(const RowPlace& place, std::uint64_t row_bytes);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_STORED_ROW_H_
