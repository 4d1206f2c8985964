#ifndef FOREBAY_SERVER_DATASET_HDF5_CHUNK_WALK_H_
#define FOREBAY_SERVER_DATASET_HDF5_CHUNK_WALK_H_

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/dataset/hdf5/array_layout.h"
#include "server/dataset/hdf5/array_walk.h"
#include "server/dataset/hdf5/btree2.h"
#include "server/dataset/hdf5/file_view.h"

namespace forebay::dataset::hdf5 {

// The place of one chunk in the file.
struct StoredChunk {
  // Number of the chunk among all chunks of the dataset's shape, in C order of
  // their positions.
  std::uint64_t number = 0;
  // Offset in bytes from the start of the file.
  std::uint64_t offset = 0;
  // Bytes of the chunk in the file, after its filters were applied.
  std::uint64_t bytes = 0;
  // If bit i of the mask is set, the writer left out filter i; see Unfilter.
  // UINT32_MAX: the chunk has no filters at all.
  std::uint32_t mask = 0;
};

// Finds the chunks of a dataset step by step, in the dataset's chunk index. The
// index may be of any ChunkIndex kind. Chunks that were not written are left
// out.
//
// Used by one thread. Owns the chunks that it finds, and counts them in
// FileView::memory(). Never blocks. Errors: those of FileView; DATA_LOSS: the
// index of chunks is damaged.
class ChunkWalk {
 public:
  // Begins the walk. `array` is chunked, and outlives the walk.
  explicit ChunkWalk(const ArrayLayout* array);

  bool done() const;
  // Reads one block or node of the index. UNAVAILABLE: bytes are missing; the
  // call can be repeated once `file` has the bytes. Must not be called once
  // done() is true.
  absl::Status Step(FileView& file);
  // Returns the chunks, sorted by number. Must be called once, when done() is
  // true. DATA_LOSS: the index lists a chunk twice.
  absl::StatusOr<std::vector<StoredChunk>> Take();

 private:
  absl::Status StepBtree1(FileView& file);
  absl::Status StepBtree2(FileView& file);
  absl::Status StepArray(FileView& file);
  absl::Status AddSingle(FileView& file);
  absl::Status AddImplicit(FileView& file);
  // Adds the chunk that an element of a fixed or extensible array leads to.
  absl::Status AddElement(FileView& file, std::uint64_t index,
                          const ArrayElement& element);
  // Adds the chunk at a position, which is given in chunks along each axis
  // (`scaled`). A chunk outside of the shape is ignored: the dataset had a
  // larger shape when that chunk was written.
  absl::Status Add(FileView& file, const std::vector<std::uint64_t>& scaled,
                   std::uint64_t address, std::uint64_t bytes,
                   std::uint32_t mask);
  // Returns the position of the chunk whose element has this index in a fixed
  // or extensible array.
  std::vector<std::uint64_t> ScaledOf(std::uint64_t index) const;
  // Returns the number of chunks along an axis that has grown to its largest
  // extent; at least 1.
  std::uint64_t LargestChunks(std::size_t axis) const;
  // Returns the first axis that the file has: 1 if MakeWhole has prepended an
  // axis, otherwise 0.
  std::size_t first_axis() const { return array_.is_whole ? 1 : 0; }

  // A node of a version 1 B-tree that is still to be read.
  struct Node {
    std::uint64_t address = 0;
    // Levels of nodes beneath the node. Unset for the root: only the root's own
    // prefix gives its level.
    std::optional<std::uint64_t> level;
  };

  const ArrayLayout& array_;
  // Whether there is nothing more to do: no chunk was written, or an index that
  // takes a single step (kSingle, kImplicit) was read.
  bool is_over_ = false;
  // Nodes of a version 1 B-tree to be read, the next one last.
  std::vector<Node> pending_;
  // Addresses of the nodes that were read. A node that is reached twice is
  // damage.
  std::set<std::uint64_t> node_addresses_;
  std::optional<Btree2Walk> btree2_;
  std::optional<ArrayWalk> elements_;
  std::vector<StoredChunk> chunks_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_CHUNK_WALK_H_
