#ifndef FOREBAY_SERVER_DATASET_HDF5_BTREE2_H_
#define FOREBAY_SERVER_DATASET_HDF5_BTREE2_H_

#include <cstdint>
#include <set>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/dataset/hdf5/file_view.h"

namespace forebay::dataset::hdf5 {

// Walks through a B-tree of version 2, node by node. Used by one thread; owns
// its place; never blocks. Errors: those of FileView; DATA_LOSS: the tree is
// damaged.
class Btree2Walk {
 public:
  explicit Btree2Walk(std::uint64_t address) : address_(address) {}

  bool done() const { return has_header_ && pending_.empty(); }
  // Bytes of a record; known after the first step.
  std::uint64_t record_bytes() const { return record_bytes_; }
  std::uint64_t type() const { return type_; }  // likewise

  // Goes on to the next node, and shows its records. If it fails, it showed
  // none, and can be called again after UNAVAILABLE. Not to be called if done.
  absl::Status Step(FileView& file,
                    absl::FunctionRef<absl::Status(Bytes record)> show);

 private:
  struct Node {
    std::uint64_t address = 0;
    std::uint64_t records = 0;
    std::uint64_t depth = 0;  // 0: a leaf
  };
  // Of the nodes at one depth.
  struct Level {
    std::uint64_t most_records = 0;  // of one
    // Of a pointer to such a node: bytes of the number of records beneath it.
    std::size_t total_bytes = 0;
  };

  absl::Status ReadHeader(FileView& file);
  absl::Status MeasureLevels(std::uint64_t depth, const Widths& widths);

  const std::uint64_t address_;  // of the header
  bool has_header_ = false;
  std::uint64_t type_ = 0;
  std::uint64_t node_bytes_ = 0;
  std::uint64_t record_bytes_ = 0;
  std::size_t count_bytes_ = 0;  // of the number of records in a pointer
  std::vector<Level> levels_;    // by depth
  std::vector<Node> pending_;
  std::set<std::uint64_t> seen_;  // addresses of nodes
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_BTREE2_H_
