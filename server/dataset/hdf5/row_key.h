#ifndef FOREBAY_SERVER_DATASET_HDF5_ROW_KEY_H_
#define FOREBAY_SERVER_DATASET_HDF5_ROW_KEY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dataset/hdf5/byte_cursor.h"
#include "server/dataset/hdf5/filters.h"
#include "server/storage/gathered/pieces.h"

namespace forebay::dataset::hdf5 {

// A chunk with a part of the row, within the extent that is read.
struct PlacedChunk {
  // Number of the chunk among the chunks of the same rows, in C order.
  std::uint64_t number = 0;
  // Offset in bytes from the start of the extent.
  std::uint64_t offset = 0;
  // Bytes of the chunk in the extent, with filters applied.
  std::uint64_t bytes = 0;
  // If bit i of the mask is set, the writer left out filter i; see Unfilter.
  // UINT32_MAX: the chunk has no filters at all.
  std::uint32_t mask = 0;
};

// The place of one dataset's row within the extent that is read. Which members
// are used depends on the kind.
struct RowPlace {
  enum class Kind : std::uint8_t {
    kDirect,  // the row is the extent
    kChunk,   // the row is in a chunk with filters
    kFilled,  // the row was not written, and has the fill value
    kEmpty,   // the row has no bytes, or nothing is read
    kParts,   // several chunks have parts of the row
  };
  Kind kind = Kind::kDirect;
  // Bytes of this dataset's part of a gathered extent, in which the parts
  // follow one another. Unused if the extent is not gathered.
  std::uint64_t length = 0;
  // Filters of the dataset (kChunk, kParts).
  std::vector<ChunkFilter> filters;
  // If bit i of the mask is set, the writer left out filter i of the chunk
  // (kChunk); see Unfilter.
  std::uint32_t mask = 0;
  // Bytes of a chunk after its filters were undone (kChunk, kParts).
  std::uint64_t chunk_bytes = 0;
  // Number of the row within the chunk or chunks (kChunk, kParts).
  std::uint64_t row = 0;
  // Fill value of an element (kFilled, kParts), as in ArrayLayout.
  std::string fill;
  // Bytes of one element (kParts).
  std::uint64_t element_bytes = 0;
  // Extents of a row (kParts).
  std::vector<std::uint64_t> shape;
  // Extents of a chunk, its rows first (kParts).
  std::vector<std::uint64_t> chunk;
  // Chunks that were written, in the order of their numbers (kParts).
  std::vector<PlacedChunk> chunks;
};

// The key of a row's record in the index: how the row lies in its extent, and
// the values that the index stores. The index compresses keys by their common
// starts. Therefore keys of rows in the same chunk begin alike.
//
// EncodeRowKey and DecodeRowKey are thread-safe, own nothing and never block.
struct RowKey {
  // Place of each dataset that is read; several only if the extent is gathered.
  std::vector<RowPlace> places;
  // Pieces of the file that make up a gathered extent. Together they have at
  // least as many bytes as all places. Empty if the extent is a range of the
  // file.
  std::vector<storage::gathered::Piece> pieces;
  // Values that the index stores, in the order of the columns. They point into
  // the decoded key.
  std::vector<std::string_view> indexed_values;
};

// The most datasets that one row can be read from.
inline constexpr std::size_t kMostPlaces = 15;

// Returns the key of a row. If `pieces` is empty, `places` has exactly one
// item. If `pieces` is not empty, each place has a part of the extent, and the
// chunks of the place follow one another from the start of that part.
std::string EncodeRowKey(const std::vector<RowPlace>& places,
                         const std::vector<storage::gathered::Piece>& pieces,
                         const std::vector<std::string_view>& indexed_values);

// Parses a key, which comes from an index on disk and is untrusted. DATA_LOSS:
// the key is malformed. The error gives the reason alone.
absl::StatusOr<RowKey> DecodeRowKey(std::string_view key);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_ROW_KEY_H_
