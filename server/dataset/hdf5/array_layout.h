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

// The kinds of index by which a chunk is found. The numbers are those of the
// Chunk Indexing Type in a Data Layout message of version 4 (HDF5 File Format
// Specification v3.0 IV.A.2.i).
enum class ChunkIndex : std::uint8_t {
  kSingle = 1,
  kImplicit = 2,
  kFixedArray = 3,
  kExtensibleArray = 4,
  kBtree2 = 5,
  // The version 1 B-tree is the only index of older layout messages, which have
  // no number for it. The number 100 is our own.
  kBtree1 = 100,
};

// A dataset of an HDF5 file: type and shape of its elements, and where the file
// stores them. ReadArrayLayout reads these facts from the messages of the
// dataset's object header (Dataspace, Datatype, Data Layout, Filter Pipeline,
// Fill Value).
struct ArrayLayout {
  // The Layout Class says where the elements are: in the Data Layout message
  // itself, in one piece of the file, or in chunks of equal shape that an index
  // lists.
  enum class Kind { kCompact, kContiguous, kChunked };

  ElementType type;
  // Extents of the axes, the slowest first; at most kMostDimensions. The first
  // axis counts rows.
  std::vector<std::uint64_t> shape;
  // Extents to which the axes can grow; UINT64_MAX if there is no limit. The
  // indexes kFixedArray and kExtensibleArray number the chunks of this shape,
  // not those of `shape`.
  std::vector<std::uint64_t> largest;
  // Whether MakeWhole was called: the whole dataset is then a single row.
  // `shape`, `largest` and `chunk` then begin with an axis of extent 1 that the
  // file does not have.
  bool is_whole = false;
  Kind kind = Kind::kContiguous;
  // The bytes of all elements of a compact dataset.
  std::string compact;
  // Address of the elements (contiguous) or of the index (chunked). kNoAddress
  // if no element was written.
  std::uint64_t address = kNoAddress;
  // Extents of one chunk along the axes, in elements; each at least 1.
  std::vector<std::uint64_t> chunk;
  ChunkIndex index = ChunkIndex::kSingle;
  // Filters in the order in which a writer applies them.
  std::vector<ChunkFilter> filters;
  // Whether chunks that reach beyond the dataset's edge are stored without
  // filters.
  bool plain_edges = false;
  // Bytes of the only chunk in the file, and the chunk's filter mask. Set only
  // if the index is kSingle and the chunk has filters. If bit i of the mask is
  // set, the writer left out filter i.
  std::uint64_t single_bytes = 0;
  std::uint32_t single_mask = 0;
  // Creation parameters of a fixed or extensible array, one byte each, as the
  // layout message has them. The header of the array repeats them.
  std::uint8_t parameters[5] = {};
  // The fill value: the bytes of each element that was not written. If it is
  // empty, the bytes are zeros.
  std::string fill;

  // Number of rows; 0 for a scalar dataset.
  std::uint64_t rows() const { return shape.empty() ? 0 : shape.front(); }
  // Returns the size of one row in bytes. The product of the extents cannot
  // overflow, because kMostBytes bounds it.
  std::uint64_t row_bytes() const;
  // Returns the size in bytes of one chunk without filters.
  std::uint64_t chunk_bytes() const;
  // Returns the number of chunks along an axis, with the partial chunk at the
  // edge.
  std::uint64_t chunks(std::size_t axis) const;
  // Returns the number of chunks that contain parts of one row.
  std::uint64_t chunks_of_row() const;
  // Whether each row lies in one piece: the dataset is not chunked, or a chunk
  // is as wide as a row.
  bool has_whole_rows() const;
  // Makes the whole dataset a single row, by prepending an axis of extent 1.
  void MakeWhole();
};

// Bounds the axes of a dataset as libhdf5 does (H5S_MAX_RANK).
inline constexpr std::size_t kMostDimensions = 32;
// Bounds the bytes of a dataset and of a chunk, so that products and sums of
// extents do not overflow 64 bits.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;

// Reads the layout of the object whose header has these messages. Thread-safe;
// owns nothing; never blocks. NOT_FOUND: the object is not a dataset.
// DATA_LOSS: the dataset is damaged. UNIMPLEMENTED: it cannot be read, for
// instance because it is virtual or lies in an external file. Error messages
// give the reason alone, worded to follow the dataset's name.
absl::StatusOr<ArrayLayout> ReadArrayLayout(
    const FileView& file, const std::vector<Message>& messages);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_ARRAY_LAYOUT_H_
