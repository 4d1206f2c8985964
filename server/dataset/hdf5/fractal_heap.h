#ifndef FOREBAY_SERVER_DATASET_HDF5_FRACTAL_HEAP_H_
#define FOREBAY_SERVER_DATASET_HDF5_FRACTAL_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "server/dataset/hdf5/file_view.h"

namespace forebay::dataset::hdf5 {

// A fractal heap: blocks whose sizes grow by powers of two, in which a group
// with many links keeps them. Copyable; used by one thread; never blocks.
// Errors: those of FileView; DATA_LOSS: it is damaged; UNIMPLEMENTED: it is
// compressed, or an object is too large for its blocks.
class FractalHeap {
 public:
  static absl::StatusOr<FractalHeap> Read(FileView& file,
                                          std::uint64_t address);

  // Returns the object of that number, which stays until FileView::Forget.
  absl::StatusOr<Bytes> Find(FileView& file, Bytes id);

 private:
  FractalHeap() = default;

  struct Block {
    std::uint64_t address = 0;
    std::uint64_t offset = 0;  // of its first byte in the heap
    std::uint64_t bytes = 0;
  };

  absl::StatusOr<Bytes> FindManaged(FileView& file, std::uint64_t offset,
                                    std::uint64_t length);
  std::uint64_t RowBytes(std::uint64_t row) const;
  absl::StatusOr<Block> Descend(FileView& file, const Block& block,
                                std::uint64_t rows, std::uint64_t offset,
                                std::uint64_t* rows_below);

  std::size_t offset_bytes_ = 0;     // of an offset in the heap
  std::uint64_t width_ = 0;          // blocks in a row
  std::uint64_t first_bytes_ = 0;    // of a block in the first row
  std::uint64_t largest_bytes_ = 0;  // of a block with objects
  std::uint64_t heap_bytes_ = 0;     // that it may have
  std::uint64_t root_ = kNoAddress;
  std::uint64_t root_rows_ = 0;  // 0: the root has objects itself
  bool has_checksums_ = false;   // in blocks with objects
  // Blocks of blocks whose checksums are right, by address and rows.
  std::set<std::pair<std::uint64_t, std::uint64_t>> checked_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_FRACTAL_HEAP_H_
