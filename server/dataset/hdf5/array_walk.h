#ifndef FOREBAY_SERVER_DATASET_HDF5_ARRAY_WALK_H_
#define FOREBAY_SERVER_DATASET_HDF5_ARRAY_WALK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/dataset/hdf5/file_view.h"

namespace forebay::dataset::hdf5 {

// An element of an array that says where chunks lie.
struct ArrayElement {
  std::uint64_t address = kNoAddress;
  // Of chunks with filters; see Chunk.
  std::uint64_t bytes = 0;
  std::uint32_t mask = 0;
};

// Walks through a fixed or an extensible array, block by block. Used by one
// thread; owns its place; never blocks. Errors: those of FileView; DATA_LOSS:
// the array is damaged.
class ArrayWalk {
 public:
  enum class Kind { kFixed, kExtensible };
  using Show = absl::FunctionRef<absl::Status(std::uint64_t index,
                                              const ArrayElement& element)>;

  ArrayWalk(Kind kind, std::uint64_t address)
      : kind_(kind), pending_{{Part::kHeader, address, 0, 0, 0}} {}

  bool done() const { return pending_.empty(); }
  // Whether its chunks have filters; known after the first step.
  bool has_filters() const { return has_filters_; }

  // Goes on to the next block, and shows its elements. If it fails with
  // UNAVAILABLE, it showed none, and can be called again. Not to be called if
  // done.
  absl::Status Step(FileView& file, Show show);

 private:
  enum class Part { kHeader, kIndexBlock, kSuperBlock, kDataBlock, kPage };
  struct Item {
    Part part = Part::kHeader;
    std::uint64_t address = 0;
    std::uint64_t first = 0;  // element
    std::uint64_t count = 0;  // elements
    std::uint64_t super = 0;  // number of a super block
  };

  absl::Status See(FileView& file, const Item& item, Show show,
                   std::vector<Item>* next);
  absl::Status SeeFixedHeader(FileView& file, const Item& item,
                              std::vector<Item>* next);
  absl::Status SeeFixedBlock(FileView& file, const Item& item, Show show,
                             std::vector<Item>* next);
  absl::Status SeeHeader(FileView& file, const Item& item,
                         std::vector<Item>* next);
  absl::Status SeeIndexBlock(FileView& file, const Item& item, Show show,
                             std::vector<Item>* next);
  absl::Status SeeSuperBlock(FileView& file, const Item& item,
                             std::vector<Item>* next);
  absl::Status SeeDataBlock(FileView& file, const Item& item, Show show);
  absl::Status SeePage(FileView& file, const Item& item, Show show);
  absl::Status TakeElements(const FileView& file, Cursor& cursor,
                            const Item& item, Show show);
  absl::Status SetElementBytes(FileView& file, std::uint64_t client,
                               std::uint64_t bytes);
  // Adds an item, unless it leads nowhere, and counts it in the file's memory.
  static absl::Status Add(FileView& file, const Item& item,
                          std::vector<Item>* next);
  // Adds the pages of a block that were written, by their bits from number
  // `page` on. The first page lies at that address.
  absl::Status AddPages(FileView& file, const Item& block, std::uint64_t at,
                        Bytes written, std::uint64_t page,
                        std::vector<Item>* next);
  std::uint64_t BlocksOf(std::uint64_t super) const;
  std::uint64_t ElementsOf(std::uint64_t super) const;

  const Kind kind_;
  std::vector<Item> pending_;
  bool has_filters_ = false;
  std::uint64_t element_bytes_ = 0;
  std::uint64_t page_elements_ = 1;
  // That it has seen. There are no more than the file has room for.
  std::uint64_t shown_ = 0;  // elements
  std::uint64_t pages_ = 0;  // that are whole
  // Of an extensible array.
  std::uint64_t supers_ = 0;          // super blocks
  std::uint64_t index_elements_ = 0;  // in the index block
  std::uint64_t least_elements_ = 0;  // in a data block
  std::uint64_t least_blocks_ = 0;    // in a super block of its own
  std::uint64_t offset_bytes_ = 0;    // of an offset in a block's prefix
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_ARRAY_WALK_H_
