#ifndef FOREBAY_SERVER_DATASET_HDF5_LINKS_H_
#define FOREBAY_SERVER_DATASET_HDF5_LINKS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/hdf5/btree2.h"
#include "server/dataset/hdf5/cursor.h"
#include "server/dataset/hdf5/file_view.h"
#include "server/dataset/hdf5/fractal_heap.h"
#include "server/dataset/hdf5/object_header.h"

namespace forebay::dataset::hdf5 {

// A name in a group.
struct Link {
  std::string name;
  // Of the object's header. kNoAddress if the link leads to another name, or
  // to another file.
  std::uint64_t address = kNoAddress;
};

// Walks through the links of a group, and goes on where it lacked bytes, so
// that a group of many links is gone through once. Used by one thread; owns the
// links and counts them in the memory, which outlives it; never blocks. Errors:
// those of FileView; DATA_LOSS: the group is damaged; UNIMPLEMENTED: its heap
// is compressed, or it has too many links.
class LinkWalk {
 public:
  explicit LinkWalk(base::WorkingMemory* memory) : memory_(memory) {}
  ~LinkWalk() { memory_->Shrink(counted_); }
  LinkWalk(const LinkWalk&) = delete;
  LinkWalk& operator=(const LinkWalk&) = delete;

  // Goes to the end. Can be called again after UNAVAILABLE, with the same
  // messages of the group's header. The file is the same, too, and has
  // forgotten nothing since.
  absl::Status Run(FileView& file, const std::vector<Message>& messages);
  // By name; known at the end.
  absl::Span<const Link> links() const { return links_; }

 private:
  // A node of a tree, or a table of symbols.
  struct Node {
    std::uint64_t address = 0;
    bool is_table = false;
  };

  absl::Status RunDense(FileView& file, Bytes link_info);
  absl::Status TakeDense(FileView& file);
  absl::Status RunOld(FileView& file, Bytes symbol_table);
  absl::Status ReadLocalHeap(FileView& file, std::uint64_t address);
  absl::Status StepTree(FileView& file, std::uint64_t address);
  absl::Status ReadSymbols(FileView& file, std::uint64_t address);
  absl::Status Add(const FileView& file, Link link);
  // Makes room in what lives as long as this.
  template <typename Items>
  absl::Status MakeRoom(Items& items, std::size_t more);
  absl::Status Count(std::uint64_t bytes);

  base::WorkingMemory* const memory_;
  std::uint64_t counted_ = 0;  // bytes
  std::size_t next_message_ = 0;
  bool has_begun_ = false;  // with the group that this message tells of
  bool is_done_ = false;
  std::vector<Link> links_;
  std::uint64_t name_bytes_ = 0;  // of these
  // Of a group with a fractal heap.
  std::optional<FractalHeap> heap_;
  std::optional<Btree2Walk> tree_;
  std::string ids_;          // in the heap, of links that are to be read next
  std::size_t next_id_ = 0;  // byte of these
  // Of a group of the old kind.
  Bytes names_;  // during a run
  std::vector<Node> pending_;
  std::set<std::uint64_t> seen_;  // addresses
};

// Returns the links of the group at that address, which has these messages, by
// name. None if it is no group. They stay until FileView::Forget. Thread-safe;
// never blocks. Errors: those of LinkWalk.
absl::StatusOr<absl::Span<const Link>> ReadLinks(
    FileView& file, std::uint64_t group, const std::vector<Message>& messages);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_LINKS_H_
