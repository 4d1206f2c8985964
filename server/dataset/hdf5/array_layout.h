#ifndef FOREBAY_SERVER_DATASET_HDF5_ARRAY_LAYOUT_H_
#define FOREBAY_SERVER_DATASET_HDF5_ARRAY_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dataset/hdf5/element_type.h"
#include "server/dataset/hdf5/file_view.h"
#include "server/dataset/hdf5/filters.h"
#include "server/dataset/hdf5/object_header.h"

namespace forebay::dataset::hdf5 {

// The index that says where each chunk lies.
enum class ChunkIndex : std::uint8_t {
  kSingle = 1,
  kImplicit = 2,
  kFixedArray = 3,
  kExtensibleArray = 4,
  kBtree2 = 5,
  kBtree1 = 100,  // of older layouts
};

// A dataset of an HDF5 file: its elements, and where they lie.
struct ArrayLayout {
  enum class Kind { kCompact, kContiguous, kChunked };

  ElementType type;
  std::vector<std::uint64_t> shape;    // at most kMostDimensions
  std::vector<std::uint64_t> largest;  // that the shape may become
  // Whether all of it is one row: it has a first axis of 1 that it has not in
  // the file.
  bool is_whole = false;
  Kind kind = Kind::kContiguous;
  std::string compact;  // all elements
  // Of the elements, or of the index of chunks; kNoAddress if no element was
  // written.
  std::uint64_t address = kNoAddress;
  std::vector<std::uint64_t> chunk;  // its shape
  ChunkIndex index = ChunkIndex::kSingle;
  std::vector<Filter> filters;
  // Whether chunks at the edge, of which the dataset has a part, have passed
  // through no filter.
  bool plain_edges = false;
  std::uint64_t single_bytes = 0;  // of a single chunk with filters
  std::uint32_t single_mask = 0;
  // The parameters of an extensible or fixed array, as they are written.
  std::uint8_t parameters[5] = {};
  // An element that was not written; zeros if it is empty.
  std::string fill;

  std::uint64_t rows() const { return shape.empty() ? 0 : shape.front(); }
  // Bytes of one row, and of one chunk.
  std::uint64_t row_bytes() const;
  std::uint64_t chunk_bytes() const;
  // Chunks along an axis.
  std::uint64_t chunks(std::size_t axis) const;
  // Chunks over one row.
  std::uint64_t chunks_of_row() const;
  // Whether each row lies in one piece.
  bool has_whole_rows() const;
  // Makes it one row.
  void MakeWhole();
};

inline constexpr std::size_t kMostDimensions = 32;
// Bounds the bytes of a dataset, so that numbers of them do not overflow.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;

// Reads the layout of the object with these messages. Thread-safe; never
// blocks. NOT_FOUND: it is no dataset. DATA_LOSS: it is damaged.
// UNIMPLEMENTED: it cannot be read, such as a virtual dataset, or one in
// another file; the reason follows the dataset's name.
absl::StatusOr<ArrayLayout> ReadArrayLayout(
    const FileView& file, const std::vector<Message>& messages);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_ARRAY_LAYOUT_H_
