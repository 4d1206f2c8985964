#ifndef FOREBAY_SERVER_DATASET_HDF5_FRACTAL_HEAP_H_
#define FOREBAY_SERVER_DATASET_HDF5_FRACTAL_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/dataset/hdf5/file_view.h"

namespace forebay::dataset::hdf5 {

// A fractal heap, in which a group with many links stores its Link messages
// (HDF5 File Format Specification v3.0 III.G). Objects lie in blocks of a
// doubling table. Rows 0 and 1 have blocks of the starting size; the blocks of
// each further row are twice as large as those of the row before.
//
// Copyable; used by one thread. Owns no bytes of the file. Never blocks.
// Errors: those of FileView; DATA_LOSS: the heap is damaged; UNIMPLEMENTED: the
// heap is compressed, or an object is too large for the blocks ("huge");
// RESOURCE_EXHAUSTED: there is no memory to compute a block's checksum.
class FractalHeap {
 public:
  // Reads the heap's header, which is at `address`.
  static absl::StatusOr<FractalHeap> Read(FileView& file,
                                          std::uint64_t address);

  // Returns the object whose Heap ID is `id`. The bytes of a tiny object lie in
  // `id` itself. The bytes of all other objects stay valid until
  // FileView::Take or FileView::Forget.
  absl::StatusOr<Bytes> Find(FileView& file, Bytes id);
  // Returns the number of blocks whose checksums were found to be right. The
  // heap keeps a set of these blocks; the caller must count the memory of this
  // set.
  std::size_t checked_blocks() const { return checked_.size(); }

 private:
  FractalHeap() = default;

  // A block of the heap. An offset is a position in the heap's address space,
  // which the blocks divide among themselves.
  struct Block {
    std::uint64_t address = 0;
    // Offset in bytes of the block's first byte within the heap.
    std::uint64_t offset = 0;
    // Bytes of the heap that the block covers, including the block's prefix.
    std::uint64_t bytes = 0;
  };

  // Returns the bytes of a managed object: an object that lies in a block.
  absl::StatusOr<Bytes> FindManaged(FileView& file, std::uint64_t offset,
                                    std::uint64_t length);
  // Checks a direct block, whose bytes are `bytes`. The heap must have
  // checksums.
  absl::Status CheckDirect(FileView& file, const Block& block,
                           Bytes bytes) const;
  // Returns the size in bytes of each block in a row of the doubling table.
  std::uint64_t RowBytes(std::uint64_t row) const;
  absl::StatusOr<Block> Descend(FileView& file, const Block& block,
                                std::uint64_t rows, std::uint64_t offset,
                                std::uint64_t* rows_below);

  // Width in bytes of an offset within the heap.
  std::size_t offset_bytes_ = 0;
  // Number of blocks in a row (Table Width).
  std::uint64_t width_ = 0;
  // Bytes of a block in the first row (Starting Block Size).
  std::uint64_t first_bytes_ = 0;
  // Bytes of the largest direct block (Maximum Direct Block Size). Direct
  // blocks contain the objects.
  std::uint64_t largest_bytes_ = 0;
  // Bytes of the heap's address space (Maximum Heap Size, a power of two).
  std::uint64_t heap_bytes_ = 0;
  // Address of the root block.
  std::uint64_t root_ = kNoAddress;
  // Rows of the root block; 0 if it is a direct block.
  std::uint64_t root_rows_ = 0;
  // Whether direct blocks have checksums.
  bool has_checksums_ = false;
  // Address, number of rows (0 for a direct block) and bytes of each block
  // whose checksum was found to be correct.
  std::set<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> checked_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_FRACTAL_HEAP_H_
