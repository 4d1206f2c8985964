#ifndef FOREBAY_SERVER_DATASET_HDF5_ARRAY_WALK_H_
#define FOREBAY_SERVER_DATASET_HDF5_ARRAY_WALK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/dataset/hdf5/file_view.h"

namespace forebay::dataset::hdf5 {

// An element of a fixed or extensible array; describes one chunk.
struct ArrayElement {
  // Address of the chunk; kNoAddress if the chunk was never written.
  std::uint64_t address = kNoAddress;
  // Bytes and filter mask of the chunk, as in StoredChunk. Set only if the
  // chunks have filters.
  std::uint64_t bytes = 0;
  std::uint32_t mask = 0;
};

// Walks through a Fixed Array or an Extensible Array of chunks, block by block
// (HDF5 File Format Specification v3.0 VII.C and VII.D). An element whose chunk
// was not written is shown with kNoAddress, or is left out.
//
// Used by one thread. Owns its list of pending blocks, and counts it in
// FileView::memory(). Never blocks. Errors: those of FileView; DATA_LOSS: the
// array is damaged.
class ArrayWalk {
 public:
  enum class Kind { kFixed, kExtensible };
  // Receives each element with its index in the array. An error that this
  // function returns ends the walk.
  using Show = absl::FunctionRef<absl::Status(std::uint64_t index,
                                              const ArrayElement& element)>;

  // Begins at the array's header, which is at `address`.
  ArrayWalk(Kind kind, std::uint64_t address)
      : kind_(kind), pending_{{Part::kHeader, address, 0, 0, 0}} {}

  // Whether all blocks were read.
  bool done() const { return pending_.empty(); }
  // Whether elements have sizes and filter masks. Known after the first Step,
  // which reads the header.
  bool has_filters() const { return has_filters_; }

  // Reads the next block and shows its elements. UNAVAILABLE: bytes are
  // missing, and no element was shown; the call can be repeated once `file` has
  // the bytes. Must not be called once done() is true.
  absl::Status Step(FileView& file, Show show);

 private:
  // The kinds of blocks, as the specification names them. Pages are parts of a
  // data block; each has a checksum of its own. kPagedBlock is the part of an
  // extensible array's data block that precedes the pages.
  enum class Part {
    kHeader,
    kIndexBlock,
    kSuperBlock,
    kDataBlock,
    kPagedBlock,
    kPage
  };
  // A block that is still to be read.
  struct Item {
    Part part = Part::kHeader;
    std::uint64_t address = 0;
    // Index of the block's first element in the array.
    std::uint64_t first = 0;
    // Number of the block's elements.
    std::uint64_t count = 0;
    // Number of this super block, or of the super block that this data block
    // belongs to.
    std::uint64_t super = 0;
  };

  absl::Status ReadBlock(FileView& file, const Item& item, Show show,
                         std::vector<Item>* next);
  absl::Status ReadFixedHeader(FileView& file, const Item& item,
                               std::vector<Item>* next);
  absl::Status ReadFixedBlock(FileView& file, const Item& item, Show show,
                              std::vector<Item>* next);
  absl::Status ReadHeader(FileView& file, const Item& item,
                          std::vector<Item>* next);
  absl::Status ReadIndexBlock(FileView& file, const Item& item, Show show,
                              std::vector<Item>* next);
  absl::Status ReadSuperBlock(FileView& file, const Item& item,
                              std::vector<Item>* next);
  absl::Status ReadDataBlock(FileView& file, const Item& item, Show show);
  // Checks the prefix of a data block with pages. The prefix has no elements.
  absl::Status ReadPagedBlock(FileView& file, const Item& item) const;
  absl::Status ReadPage(FileView& file, const Item& item, Show show);
  // Takes the elements of a block off `cursor` and shows them.
  absl::Status TakeElements(const FileView& file, ByteCursor& cursor,
                            const Item& item, Show show);
  // Checks the Client ID (`client`) and the element size (`bytes`) of a header.
  // Sets has_filters_ and element_bytes_ accordingly.
  absl::Status SetElementBytes(FileView& file, std::uint64_t client,
                               std::uint64_t bytes);
  // Adds a block to `next` and counts it in FileView::memory(). Leaves out a
  // block that was never written: its address is kNoAddress.
  static absl::Status Add(FileView& file, const Item& item,
                          std::vector<Item>* next);
  // Adds those pages of a data block that were written. `at` is the address of
  // the block's first page. In the bitmap `written`, bit `page` stands for the
  // first page.
  absl::Status AddPages(FileView& file, const Item& block, std::uint64_t at,
                        Bytes written, std::uint64_t page,
                        std::vector<Item>* next);
  // Returns the number of data blocks in a super block.
  std::uint64_t BlocksOf(std::uint64_t super) const;
  // Returns the number of elements in each data block of a super block.
  std::uint64_t ElementsOf(std::uint64_t super) const;

  const Kind kind_;
  // Blocks to be read, the next one last.
  std::vector<Item> pending_;
  bool has_filters_ = false;
  // Bytes of one element in the file.
  std::uint64_t element_bytes_ = 0;
  // Elements in a page. A data block with more elements is divided into pages.
  std::uint64_t page_elements_ = 1;
  // Numbers of elements shown and of whole pages added so far. The walk fails
  // if the file is too small for so many, so it ends even if damaged blocks
  // share an address.
  std::uint64_t shown_elements_ = 0;  // elements
  std::uint64_t pages_ = 0;           // whole pages
  // Number of super blocks. This member and all that follow are used only for
  // an extensible array.
  std::uint64_t supers_ = 0;
  // Number of elements that are in the index block itself.
  std::uint64_t index_elements_ = 0;
  // Elements in the smallest data block (Data Block Minimum Elements).
  std::uint64_t least_elements_ = 0;
  // A super block with at least this many data blocks is a block of its own in
  // the file. If a super block has fewer, the index block has the addresses of
  // its data blocks.
  std::uint64_t least_blocks_ = 0;
  // Bytes of the field Block Offset in the prefix of a data block or super
  // block.
  std::uint64_t offset_bytes_ = 0;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_ARRAY_WALK_H_
