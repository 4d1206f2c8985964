#include "server/dataset/hdf5/btree2.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "server/base/check.h"
#include "server/base/status.h"

// A leaf of a version 2 B-tree (HDF5 File Format Specification v3.0 III.A.2)
// has only records. Any other node also has pointers to children: one more than
// it has records. A pointer is the child's address and the number of records in
// the child. If the child is not a leaf, another number follows: the number of
// all records in the child and beneath it. The widths of the two numbers are
// not in the file: they are the bytes that the largest possible number needs.
// MeasureLevels computes them from the size of a node.
//
// The walk keeps a stack of nodes, and reads the first child of a node first.
// Nodes are mostly stored in that order, and reads become longer while a file
// is read from front to back. Records are shown node by node, and therefore not
// in the order of the tree; no caller needs that. Every node is read once.

namespace forebay::dataset::hdf5 {
namespace {

constexpr std::uint64_t kNodePrefix = 6;  // signature (4 bytes), version, type
constexpr std::uint64_t kChecksum = 4;
// Bounds the depth of a tree and the bytes of a node, whatever the header says.
constexpr std::uint64_t kDeepest = 16;
constexpr std::uint64_t kLargestNode = std::uint64_t{1} << 24;

absl::Status Damaged() {
  return absl::DataLossError("is damaged: a B-tree contradicts itself");
}

// Returns the number of bytes that numbers up to `most` need.
std::size_t WidthOf(std::uint64_t most) {
  return most == 0 ? 1
                   : (static_cast<std::size_t>(std::bit_width(most)) + 7) / 8;
}

}  // namespace

absl::Status Btree2Walk::ReadHeader(FileView& file) {
  const Widths& widths = file.widths();
  FOREBAY_ASSIGN_OR_RETURN(
      ByteCursor cursor,
      file.Checked(address_, 22 + widths.address + widths.length, "BTHD"));
  cursor.Skip(1);
  type_ = cursor.Take(1);
  node_bytes_ = cursor.Take(4);
  record_bytes_ = cursor.Take(2);
  const std::uint64_t depth = cursor.Take(2);
  cursor.Skip(2);
  const std::uint64_t root = cursor.TakeAddress();
  const std::uint64_t records = cursor.Take(2);
  if (record_bytes_ == 0 || depth > kDeepest || node_bytes_ > kLargestNode ||
      node_bytes_ < kNodePrefix + kChecksum + record_bytes_)
    return Damaged();
  FOREBAY_RETURN_IF_ERROR(MeasureLevels(depth, widths));
  FOREBAY_RETURN_IF_ERROR(file.memory().MakeRoom(pending_, 1));
  has_header_ = true;
  if (root != kNoAddress) pending_.push_back({root, records, depth});
  if (done()) DropNodes(file);
  return absl::OkStatus();
}

void Btree2Walk::DropNodes(FileView& file) {
  file.memory().Shrink(pending_.capacity() * sizeof(Node) +
                       node_addresses_.size() * kAddressSetBytes);
  std::vector<Node>().swap(pending_);
  node_addresses_.clear();
}

absl::Status Btree2Walk::MeasureLevels(std::uint64_t depth,
                                       const Widths& widths) {
  const std::uint64_t room = node_bytes_ - kNodePrefix - kChecksum;
  levels_.assign(1, {.most_records = room / record_bytes_});
  count_bytes_ = WidthOf(levels_[0].most_records);
  std::uint64_t total = levels_[0].most_records;
  for (std::uint64_t level = 1; level <= depth; ++level) {
    // A node has room for n records and n + 1 pointers.
    const std::uint64_t pointer =
        widths.address + count_bytes_ + levels_.back().total_bytes;
    if (room < pointer) return Damaged();
    Level next;
    next.most_records = (room - pointer) / (record_bytes_ + pointer);
    if (next.most_records == 0 ||
        total > UINT64_MAX / (next.most_records + 2)) {
      return Damaged();
    }
    // A full node has full children and its own records.
    total = (next.most_records + 1) * total + next.most_records;
    next.total_bytes = WidthOf(total);
    levels_.push_back(next);
  }
  return absl::OkStatus();
}

absl::Status Btree2Walk::Step(
    FileView& file, absl::FunctionRef<absl::Status(Bytes record)> show) {
  if (!has_header_) return ReadHeader(file);
  FOREBAY_CHECK(!pending_.empty());
  const Node node = pending_.back();
  const Level& level = levels_[node.depth];
  if (node.records > level.most_records) return Damaged();
  std::uint64_t bytes = kNodePrefix + node.records * record_bytes_ + kChecksum;
  const std::size_t total_bytes =
      node.depth > 0 ? levels_[node.depth - 1].total_bytes : 0;
  if (node.depth > 0) {
    bytes += (node.records + 1) *
             (file.widths().address + count_bytes_ + total_bytes);
  }
  FOREBAY_ASSIGN_OR_RETURN(
      ByteCursor cursor,
      file.Checked(node.address, bytes, node.depth > 0 ? "BTIN" : "BTLF"));
  // From here on, no byte of the node is missing. A repeated step therefore
  // shows no record twice.
  if (!node_addresses_.insert(node.address).second) return Damaged();
  FOREBAY_RETURN_IF_ERROR(file.memory().Grow(kAddressSetBytes));
  pending_.pop_back();
  cursor.Skip(1);
  if (cursor.Take(1) != type_) return Damaged();
  for (std::uint64_t i = 0; i < node.records; ++i)
    FOREBAY_RETURN_IF_ERROR(show(cursor.TakeBytes(record_bytes_)));
  if (node.depth > 0) {
    FOREBAY_RETURN_IF_ERROR(file.memory().MakeRoom(pending_, node.records + 1));
  }
  const std::size_t others = pending_.size();
  for (std::uint64_t i = 0; node.depth > 0 && i <= node.records; ++i) {
    Node child;
    child.address = cursor.TakeAddress();
    child.records = cursor.Take(count_bytes_);
    child.depth = node.depth - 1;
    cursor.Skip(total_bytes);
    pending_.push_back(child);
  }
  std::reverse(pending_.begin() + static_cast<std::ptrdiff_t>(others),
               pending_.end());
  if (!cursor.ok()) return Damaged();
  if (done()) DropNodes(file);
  return absl::OkStatus();
}

}  // namespace forebay::dataset::hdf5
