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
#include "server/dataset/hdf5/byte_cursor.h"
#include "server/dataset/hdf5/file_view.h"
#include "server/dataset/hdf5/fractal_heap.h"
#include "server/dataset/hdf5/object_header.h"

namespace forebay::dataset::hdf5 {

// A link: a name in a group, and the object that it leads to.
struct Link {
  std::string name;
  // Address of the object's header. kNoAddress if the link is a soft or
  // external one, which names another path or file.
  std::uint64_t address = kNoAddress;
};

// Walks through the links of a group. Resumes where bytes were missing, so that
// each node of a large group is parsed once.
//
// Used by one thread. Owns the links, and counts them in `memory`, which
// outlives the walk. Never blocks. Errors: those of FileView; DATA_LOSS: the
// group is damaged; UNIMPLEMENTED: the group's heap is compressed, a link is
// too long, or there are too many links.
class LinkWalk {
 public:
  explicit LinkWalk(base::WorkingMemory* memory) : memory_(memory) {}
  ~LinkWalk() { memory_->Shrink(counted_); }
  LinkWalk(const LinkWalk&) = delete;
  LinkWalk& operator=(const LinkWalk&) = delete;

  // Reads all links. UNAVAILABLE: bytes are missing; the call can be repeated
  // with the same messages and the same file, provided that FileView::Forget
  // was not called since.
  absl::Status Run(FileView& file, const std::vector<Message>& messages);
  // Returns the links, sorted by name. Complete once Run has succeeded.
  absl::Span<const Link> links() const { return links_; }

 private:
  // A node of a version 1 B-tree, or a symbol table node, that is still to be
  // read.
  struct Node {
    std::uint64_t address = 0;
    bool is_table = false;
  };

  // Reads links from a fractal heap, whose objects a version 2 B-tree lists.
  absl::Status RunDense(FileView& file, Bytes link_info);
  absl::Status TakeDense(FileView& file);
  // Reads links from symbol table nodes, which a version 1 B-tree lists.
  absl::Status RunOld(FileView& file, Bytes symbol_table);
  absl::Status ReadLocalHeap(FileView& file, std::uint64_t address);
  absl::Status StepTree(FileView& file, std::uint64_t address);
  absl::Status ReadSymbols(FileView& file, std::uint64_t address);
  // Adds a link and counts its memory. Fails if there are too many links, or if
  // their names are together longer than the file.
  absl::Status Add(const FileView& file, Link link);
  // Makes room for `more` items in a member container, and counts the memory.
  template <typename Items>
  absl::Status MakeRoom(Items& items, std::size_t more);
  absl::Status Count(std::uint64_t bytes);

  base::WorkingMemory* const memory_;
  // Bytes that `memory_` counts for this walk.
  std::uint64_t counted_ = 0;
  // Index of the header message that is being read or comes next.
  std::size_t next_message_ = 0;
  // Whether the walk through the B-tree of the message at `next_message_` has
  // begun.
  bool has_begun_ = false;
  bool is_done_ = false;
  std::vector<Link> links_;
  // Bytes of all names, each with its NUL.
  std::uint64_t name_bytes_ = 0;
  // The heap of a group with a fractal heap, and the tree that lists its
  // objects.
  std::optional<FractalHeap> heap_;
  std::optional<Btree2Walk> tree_;
  // Records of the last tree node that was read. Each has the Heap ID of a
  // link.
  std::string ids_;
  // Offset in bytes of the record that is read next.
  std::size_t next_id_ = 0;
  // The local heap of an old-style group, with the names. Valid during one run.
  Bytes names_;
  // Nodes to be read, the next one last.
  std::vector<Node> pending_;
  // Addresses of the nodes that were read. A node that is reached twice is
  // damage.
  std::set<std::uint64_t> node_addresses_;
};

// Returns the links of the group whose header is at the address `group`, sorted
// by name. `messages` are the messages of that header. Returns no links if the
// object is not a group. The links stay valid until FileView::Forget. Used by
// one thread, as the view is; never blocks. Errors: those of LinkWalk.
absl::StatusOr<absl::Span<const Link>> ReadLinks(
    FileView& file, std::uint64_t group, const std::vector<Message>& messages);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_LINKS_H_
