#ifndef FOREBAY_SERVER_DATASET_HDF5_ROW_KEY_H_
#define FOREBAY_SERVER_DATASET_HDF5_ROW_KEY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dataset/hdf5/cursor.h"
#include "server/dataset/hdf5/filters.h"
#include "server/storage/gathered/pieces.h"

namespace forebay::dataset::hdf5 {

// A chunk in an extent.
struct PlacedChunk {
  std::uint64_t number = 0;  // among those over the same rows
  std::uint64_t offset = 0;  // from the extent's start; bytes
  std::uint64_t bytes = 0;
  std::uint32_t mask = 0;  // see Unfilter; UINT32_MAX: it has no filters
};

// How a row lies in the extent that is read of it.
struct RowPlace {
  enum class Kind : std::uint8_t {
    kDirect,  // it is the extent
    kChunk,   // in a chunk with filters
    kFilled,  // it was not written: it has the fill value
    kEmpty,   // it has no bytes, or nothing is read
    kParts,   // in several chunks, which have parts of it
  };
  Kind kind = Kind::kDirect;
  // Bytes of the extent. Only of rows that are gathered: the extent of each
  // dataset's place follows that of the one before it.
  std::uint64_t length = 0;
  // Of kChunk and kParts.
  std::vector<Filter> filters;
  std::uint32_t mask = 0;         // of kChunk; see Unfilter
  std::uint64_t chunk_bytes = 0;  // without filters
  std::uint64_t row = 0;          // in the chunk
  std::string fill;               // of kFilled and kParts; see ArrayLayout
  // Of kParts.
  std::uint64_t element_bytes = 0;
  std::vector<std::uint64_t> shape;  // of a row
  std::vector<std::uint64_t> chunk;  // of a chunk, with its rows
  std::vector<PlacedChunk> chunks;
};

// A row, as the index knows it besides its extent: how the row lies in it, and
// the values that are kept. It is the record's key. Rows of one chunk have keys
// that begin alike. Functions are thread-safe and never block.
struct RowKey {
  std::vector<RowPlace> places;  // at least one; of several if it is gathered
  // Of which the extent is gathered, at least all of the places' bytes. None if
  // it lies in the file as it is.
  std::vector<storage::gathered::Piece> pieces;
  std::vector<std::string_view> kept;  // into the key
};

inline constexpr std::size_t kMostPlaces = 15;

// Without pieces there is one place. With them, each place's chunks lie one
// behind the other from its begin on.
std::string EncodeRowKey(const std::vector<RowPlace>& places,
                         const std::vector<storage::gathered::Piece>& pieces,
                         const std::vector<std::string_view>& kept);

// DATA_LOSS: it is no such key. The error gives the reason alone.
absl::StatusOr<RowKey> DecodeRowKey(std::string_view key);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_ROW_KEY_H_
