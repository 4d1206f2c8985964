#ifndef FOREBAY_SERVER_DATASET_HDF5_BTREE2_H_
#define FOREBAY_SERVER_DATASET_HDF5_BTREE2_H_

#include <cstdint>
#include <set>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/dataset/hdf5/file_view.h"

namespace forebay::dataset::hdf5 {

// Walks through a version 2 B-tree, node by node (HDF5 File Format
// Specification v3.0 III.A.2). Groups list links in such trees, and datasets
// list chunks.
//
// Used by one thread. Owns its lists of nodes, and counts them in the file's
// memory until done() is true. Never blocks. Errors: those of FileView;
// DATA_LOSS: the tree is damaged; RESOURCE_EXHAUSTED: the memory has no room.
class Btree2Walk {
 public:
  // Begins at the tree's header, which is at `address`.
  explicit Btree2Walk(std::uint64_t address) : address_(address) {}

  // Whether the header and all nodes were read.
  bool done() const { return has_header_ && pending_.empty(); }
  // Bytes of one record. Known after the first step, which reads the header.
  std::uint64_t record_bytes() const { return record_bytes_; }
  // Type of the records, which says what they index. Known after the first
  // step.
  std::uint64_t type() const { return type_; }

  // Reads the next node and shows its records. UNAVAILABLE: bytes are missing,
  // and no record was shown. The call can be repeated when the bytes have come.
  // Must not be called once done() is true.
  absl::Status Step(FileView& file,
                    absl::FunctionRef<absl::Status(Bytes record)> show);

 private:
  // A node that is still to be read.
  struct Node {
    std::uint64_t address = 0;
    // Number of records in the node itself, as its parent or the header says.
    std::uint64_t records = 0;
    // Levels of nodes beneath the node; 0 for a leaf.
    std::uint64_t depth = 0;
  };
  // The sizes of all nodes at one depth, which follow from the size of a node.
  struct Level {
    // Records that one such node can have.
    std::uint64_t most_records = 0;
    // Width in bytes of a count in a parent's pointer to such a node. The count
    // is that of the records in the node and in all nodes beneath it. Pointers
    // to leaves have no such count.
    std::size_t total_bytes = 0;
  };

  absl::Status ReadHeader(FileView& file);
  // Frees the lists of nodes, and counts them no longer.
  void DropNodes(FileView& file);
  // Computes the levels up to `depth`.
  absl::Status MeasureLevels(std::uint64_t depth, const Widths& widths);

  // Address of the tree's header.
  const std::uint64_t address_;
  bool has_header_ = false;
  std::uint64_t type_ = 0;
  // Bytes of a node in the file. Its records need not fill them.
  std::uint64_t node_bytes_ = 0;
  std::uint64_t record_bytes_ = 0;
  // Width in bytes of the count of a node's own records, in a pointer to that
  // node.
  std::size_t count_bytes_ = 0;
  // The levels by depth; the level of the leaves comes first.
  std::vector<Level> levels_;
  // Nodes to be read, the next one last.
  std::vector<Node> pending_;
  // Addresses of the nodes that were read: no node may come twice.
  std::set<std::uint64_t> node_addresses_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_BTREE2_H_
