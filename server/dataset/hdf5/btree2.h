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
// Used by one thread. Owns its lists of nodes, and counts them in
// FileView::memory() until done() is true. Never blocks. Errors: those of
// FileView; DATA_LOSS: the tree is damaged; RESOURCE_EXHAUSTED: the memory has
// no room.
class Btree2Walk {
 public:
  // Begins at the tree's header, which is at `address`.
  explicit Btree2Walk(std::uint64_t address) : address_(address) {}

  // Whether the header and all nodes were read.
  bool done() const { return has_header_ && pending_.empty(); }
  // Bytes of one record. Known after the first Step, which reads the header.
  std::uint64_t record_bytes() const { return record_bytes_; }
  // Type of the records, which says what they index. Known after the first
  // Step.
  std::uint64_t type() const { return type_; }

  // Reads the next node and shows its records. UNAVAILABLE: bytes are missing,
  // and no record was shown; the call can be repeated once `file` has the
  // bytes. Must not be called once done() is true.
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
  // Limits of the nodes at one depth. MeasureLevels computes them from the size
  // of a node.
  struct Level {
    // The most records that a node at this depth can have.
    std::uint64_t most_records = 0;
    // A pointer to a node at this depth states how many records are in the node
    // and beneath it. `total_bytes` is the width of this number in bytes; 0 for
    // leaves, because pointers to leaves lack the number.
    std::size_t total_bytes = 0;
  };

  absl::Status ReadHeader(FileView& file);
  // Frees the lists of nodes, and gives their memory back.
  void DropNodes(FileView& file);
  // Computes the levels up to `depth`.
  absl::Status MeasureLevels(std::uint64_t depth, const Widths& widths);

  // Address of the tree's header.
  const std::uint64_t address_;
  bool has_header_ = false;
  std::uint64_t type_ = 0;
  // Bytes of a node in the file, whether or not its records fill them.
  std::uint64_t node_bytes_ = 0;
  std::uint64_t record_bytes_ = 0;
  // A pointer to a node also states how many records are in the node itself.
  // `count_bytes_` is the width of this number in bytes.
  std::size_t count_bytes_ = 0;
  // The levels by depth; the level of the leaves comes first.
  std::vector<Level> levels_;
  // Nodes to be read, the next one last.
  std::vector<Node> pending_;
  // Addresses of the nodes that were read. A node that is reached twice is
  // damage.
  std::set<std::uint64_t> node_addresses_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_BTREE2_H_
