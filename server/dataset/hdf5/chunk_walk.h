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

// A chunk of a dataset, as it lies in the file.
struct Chunk {
  std::uint64_t number = 0;  // among all chunks, the last axis the fastest
  std::uint64_t offset = 0;  // bytes into the file
  std::uint64_t bytes = 0;
  std::uint32_t mask = 0;  // see Unfilter
};

// Finds the chunks of a dataset, step by step. Chunks that were not written are
// not found. Used by one thread; counts what it finds in the file's memory;
// never blocks. Errors: those of FileView; DATA_LOSS: the index of chunks is
// damaged.
class ChunkWalk {
 public:
  // The dataset is chunked, and outlives this.
  explicit ChunkWalk(const ArrayLayout* array);

  bool done() const;
  // Goes on. Can be called again after UNAVAILABLE. Not to be called if done.
  absl::Status Step(FileView& file);
  // Returns what was found, by number. To be called once, when it is done.
  // DATA_LOSS: a chunk is there twice.
  absl::StatusOr<std::vector<Chunk>> Take();

 private:
  absl::Status StepBtree1(FileView& file);
  absl::Status StepBtree2(FileView& file);
  absl::Status StepArray(FileView& file);
  absl::Status AddSingle(FileView& file);
  absl::Status AddImplicit(FileView& file);
  absl::Status AddElement(FileView& file, std::uint64_t index,
                          const ArrayElement& element);
  // Adds the chunk with these numbers along the axes, unless it lies outside of
  // the dataset.
  absl::Status Add(FileView& file, const std::vector<std::uint64_t>& scaled,
                   std::uint64_t address, std::uint64_t bytes,
                   std::uint32_t mask);
  std::vector<std::uint64_t> ScaledOf(std::uint64_t index) const;
  // Chunks that there may be along an axis.
  std::uint64_t LargestChunks(std::size_t axis) const;
  // Axes that the file knows; those before them are not there.
  std::size_t first_axis() const { return array_.is_whole ? 1 : 0; }

  struct Node {
    std::uint64_t address = 0;
    std::optional<std::uint64_t> level;  // nothing: that of the root
  };

  const ArrayLayout& array_;
  bool is_over_ = false;
  std::vector<Node> pending_;  // of a B-tree of version 1
  std::set<std::uint64_t> seen_;
  std::optional<Btree2Walk> btree2_;
  std::optional<ArrayWalk> elements_;
  std::vector<Chunk> found_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_CHUNK_WALK_H_
