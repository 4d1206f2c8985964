#ifndef FOREBAY_SERVER_DATASET_HDF5_ROW_KEY_H_
#define FOREBAY_SERVER_DATASET_HDF5_ROW_KEY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dataset/hdf5/cursor.h"
#include "server/dataset/hdf5/filters.h"

namespace forebay::dataset::hdf5 {

// How a row lies in the extent that is read of it.
struct RowPlace {
  enum class Kind : std::uint8_t {
    kDirect,  // it is the extent
    kChunk,   // in a chunk with filters
    kFilled,  // it was not written: it has the fill value
    kEmpty,   // it has no bytes, or nothing is read
  };
  Kind kind = Kind::kDirect;
  // Of kChunk.
  std::vector<Filter> filters;
  std::uint32_t mask = 0;         // see Unfilter
  std::uint64_t chunk_bytes = 0;  // without filters
  std::uint64_t row = 0;          // in the chunk
  std::string fill;               // of kFilled; see ArrayLayout
};

// What the index knows of a row besides its extent: how the row lies in it, and
// the values that are kept. It is the record's key. Rows of one chunk have keys
// that begin alike. Functions are thread-safe and never block.
struct RowKey {
  RowPlace place;
  std::vector<std::string_view> kept;  // into the key
};

std::string EncodeRowKey(const RowPlace& place,
                         const std::vector<std::string_view>& kept);

// DATA_LOSS: it is no such key. The error gives the reason alone.
absl::StatusOr<RowKey> DecodeRowKey(std::string_view key);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_ROW_KEY_H_
