#include "server/dataset/hdf5/chunk_walk.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"

// A dataset has one of the five indexes of Appendix C (HDF5 File Format
// Specification v3.0 VII), or the older version 1 B-tree (III.A.1). The walk of
// every index calls Add for each chunk. Add takes the chunk's position along
// each axis, its address, its bytes and its filter mask.
//
// B-trees give the position of each chunk. Arrays number the chunks of the
// largest shape to which the dataset may grow. The implicit index is such an
// array without elements: all chunks have equally many bytes, and follow one
// another in the file.
//
// The walk through a B-tree reads the first child of a node first; see
// btree2.cc.
//
// Indexes are untrusted. A node that is reached twice is an error at once. A
// chunk that is listed twice is found at the end, by Take.

namespace forebay::dataset::hdf5 {
namespace {

absl::Status Damaged() {
  return absl::DataLossError(
      "is damaged: its index of chunks contradicts "
      "itself");
}

}  // namespace

ChunkWalk::ChunkWalk(const ArrayLayout* array) : array_(*array) {
  FOREBAY_CHECK(array_.kind == ArrayLayout::Kind::kChunked);
  // Without an address, no chunk was written.
  if (array_.address == kNoAddress) {
    is_over_ = true;
    return;
  }
  switch (array_.index) {
    case ChunkIndex::kBtree1:
      pending_.push_back({array_.address, std::nullopt});
      break;
    case ChunkIndex::kBtree2:
      btree2_.emplace(array_.address);
      break;
    case ChunkIndex::kFixedArray:
      elements_.emplace(ArrayWalk::Kind::kFixed, array_.address);
      break;
    case ChunkIndex::kExtensibleArray:
      elements_.emplace(ArrayWalk::Kind::kExtensible, array_.address);
      break;
    case ChunkIndex::kSingle:
    case ChunkIndex::kImplicit:
      break;
  }
}

bool ChunkWalk::done() const {
  if (is_over_) return true;
  if (btree2_.has_value()) return btree2_->done();
  if (elements_.has_value()) return elements_->done();
  return array_.index == ChunkIndex::kBtree1 && pending_.empty();
}

absl::Status ChunkWalk::Step(FileView& file) {
  FOREBAY_CHECK(!done());
  if (btree2_.has_value()) return StepBtree2(file);
  if (elements_.has_value()) return StepArray(file);
  if (array_.index == ChunkIndex::kBtree1) return StepBtree1(file);
  is_over_ = true;
  return array_.index == ChunkIndex::kSingle ? AddSingle(file)
                                             : AddImplicit(file);
}

absl::Status ChunkWalk::StepBtree1(FileView& file) {
  const Node node = pending_.back();
  const Widths& widths = file.widths();
  // The node's prefix has a signature, the type (1 for chunks), the level, the
  // number of entries, and the addresses of two siblings. Each entry is a key
  // and the address of a child. A key is the chunk's bytes, its filter mask,
  // and its offset in elements along each axis. A further offset, within the
  // element, is always 0.
  const std::uint64_t prefix = 8 + 2 * widths.address;
  FOREBAY_ASSIGN_OR_RETURN(const Bytes start, file.At(node.address, prefix));
  ByteCursor cursor(start, widths);
  if (!cursor.TakeSignature("TREE") || cursor.Take(1) != 1) return Damaged();
  const std::uint64_t level = cursor.Take(1);
  const std::uint64_t entries = cursor.Take(2);
  if (node.level.has_value() && level != *node.level) return Damaged();
  const std::uint64_t key = 8 + 8 * (array_.shape.size() - first_axis() + 1);
  FOREBAY_ASSIGN_OR_RETURN(
      const Bytes items,
      file.At(node.address + prefix, entries * (key + widths.address)));
  if (!node_addresses_.insert(node.address).second) return Damaged();
  FOREBAY_RETURN_IF_ERROR(file.memory().Grow(kAddressSetBytes));
  pending_.pop_back();
  ByteCursor item(items, widths);
  std::vector<std::uint64_t> scaled(array_.shape.size());
  const std::size_t others = pending_.size();
  for (std::uint64_t i = 0; i < entries; ++i) {
    const std::uint64_t bytes = item.Take(4);
    const auto mask = static_cast<std::uint32_t>(item.Take(4));
    for (std::size_t axis = first_axis(); axis < scaled.size(); ++axis)
      scaled[axis] = item.Take(8) / array_.chunk[axis];
    item.Skip(8);
    const std::uint64_t child = item.TakeAddress();
    if (level > 0) {
      FOREBAY_RETURN_IF_ERROR(file.memory().MakeRoom(pending_, 1));
      pending_.push_back({child, level - 1});
    } else {
      FOREBAY_RETURN_IF_ERROR(Add(file, scaled, child, bytes, mask));
    }
  }
  std::reverse(pending_.begin() + static_cast<std::ptrdiff_t>(others),
               pending_.end());
  if (done()) {
    // The constructor had no FileView, so it did not count the node that it
    // added.
    file.memory().Shrink((pending_.capacity() - 1) * sizeof(Node));
    std::vector<Node>().swap(pending_);
    file.memory().Shrink(node_addresses_.size() * kAddressSetBytes);
    node_addresses_.clear();
  }
  return absl::OkStatus();
}

absl::Status ChunkWalk::StepBtree2(FileView& file) {
  return btree2_->Step(file, [&](Bytes record) -> absl::Status {
    // Record types 10 and 11 are chunks without and with filters. The size
    // field of a filtered chunk takes all bytes of the record that the other
    // fields leave.
    constexpr std::uint64_t kPlain = 10;
    constexpr std::uint64_t kFiltered = 11;
    const std::uint64_t type = btree2_->type();
    const std::uint64_t address = file.widths().address;
    const std::uint64_t coordinates = 8 * (array_.shape.size() - first_axis());
    ByteCursor cursor(record, file.widths());
    const std::uint64_t at = cursor.TakeAddress();
    std::uint64_t bytes = array_.chunk_bytes();
    std::uint32_t mask = 0;
    if (type == kFiltered) {
      const std::uint64_t others = address + 4 + coordinates;
      if (record.size() <= others || record.size() > others + 8)
        return Damaged();
      bytes = cursor.Take(record.size() - others);
      mask = static_cast<std::uint32_t>(cursor.Take(4));
    } else if (type != kPlain) {
      return Damaged();
    }
    std::vector<std::uint64_t> scaled(array_.shape.size());
    for (std::size_t axis = first_axis(); axis < scaled.size(); ++axis)
      scaled[axis] = cursor.Take(8);
    if (!cursor.ok()) return Damaged();
    return Add(file, scaled, at, bytes, mask);
  });
}

absl::Status ChunkWalk::StepArray(FileView& file) {
  return elements_->Step(file,
                         [&](std::uint64_t index, const ArrayElement& element) {
                           return AddElement(file, index, element);
                         });
}

absl::Status ChunkWalk::AddElement(FileView& file, std::uint64_t index,
                                   const ArrayElement& element) {
  if (element.address == kNoAddress) return absl::OkStatus();
  const std::uint64_t bytes =
      elements_->has_filters() ? element.bytes : array_.chunk_bytes();
  return Add(file, ScaledOf(index), element.address, bytes, element.mask);
}

absl::Status ChunkWalk::AddSingle(FileView& file) {
  const std::vector<std::uint64_t> scaled(array_.shape.size());
  // If the single chunk has filters, the layout message has the chunk's size.
  if (array_.filters.empty() || array_.single_bytes == 0) {
    return Add(file, scaled, array_.address, array_.chunk_bytes(), UINT32_MAX);
  }
  return Add(file, scaled, array_.address, array_.single_bytes,
             array_.single_mask);
}

// Adds all chunks of the shape. The file has the chunks of the largest shape,
// one directly after the other in C order. `before` is the number of chunks
// that precede a chunk in the file.
absl::Status ChunkWalk::AddImplicit(FileView& file) {
  const std::uint64_t bytes = array_.chunk_bytes();
  const std::uint64_t most = file.size() / bytes;
  std::uint64_t chunks = 1;
  for (std::size_t axis = 0; axis < array_.shape.size(); ++axis)
    chunks *= array_.chunks(axis);
  if (chunks > most) return Damaged();
  std::vector<std::uint64_t> scaled(array_.shape.size());
  for (std::uint64_t i = 0; i < chunks; ++i) {
    std::uint64_t rest = i;
    for (std::size_t axis = scaled.size(); axis-- > 0;) {
      scaled[axis] = rest % array_.chunks(axis);
      rest /= array_.chunks(axis);
    }
    std::uint64_t before = 0;
    for (std::size_t axis = 0; axis < scaled.size(); ++axis) {
      const std::uint64_t largest = LargestChunks(axis);
      if (before > most / largest) return Damaged();
      before = before * largest + scaled[axis];
    }
    if (before >= most) return Damaged();
    FOREBAY_RETURN_IF_ERROR(
        file.Locate(array_.address, (before + 1) * bytes).status());
    FOREBAY_RETURN_IF_ERROR(
        Add(file, scaled, array_.address + before * bytes, bytes, UINT32_MAX));
  }
  return absl::OkStatus();
}

std::uint64_t ChunkWalk::LargestChunks(std::size_t axis) const {
  const std::uint64_t largest = array_.largest[axis];
  const std::uint64_t chunk = array_.chunk[axis];
  return std::max<std::uint64_t>(1, largest / chunk + (largest % chunk != 0));
}

// Computes a position from an index. An array numbers the chunks of the largest
// shape that the dataset may have. The numbers are in C order, except that an
// unlimited axis changes slowest.
std::vector<std::uint64_t> ChunkWalk::ScaledOf(std::uint64_t index) const {
  const std::size_t rank = array_.shape.size();
  // The axes, the slowest one first.
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (array_.largest[axis] == UINT64_MAX) {
      axes.insert(axes.begin(), axis);
    } else {
      axes.push_back(axis);
    }
  }
  std::vector<std::uint64_t> scaled(rank);
  for (std::size_t i = rank; i-- > 1;) {
    const std::uint64_t chunks = LargestChunks(axes[i]);
    scaled[axes[i]] = index % chunks;
    index /= chunks;
  }
  if (rank > 0) scaled[axes[0]] = index;
  return scaled;
}

absl::Status ChunkWalk::Add(FileView& file,
                            const std::vector<std::uint64_t>& scaled,
                            std::uint64_t address, std::uint64_t bytes,
                            std::uint32_t mask) {
  StoredChunk chunk{.bytes = bytes, .mask = mask};
  bool is_whole = true;
  for (std::size_t axis = 0; axis < scaled.size(); ++axis) {
    const std::uint64_t chunks = array_.chunks(axis);
    if (scaled[axis] >= chunks) return absl::OkStatus();
    chunk.number = chunk.number * chunks + scaled[axis];
    is_whole = is_whole && (scaled[axis] + 1 < chunks ||
                            array_.shape[axis] % array_.chunk[axis] == 0);
  }
  // Chunks without filters are marked by a mask of all ones.
  if (array_.filters.empty() || (array_.plain_edges && !is_whole))
    chunk.mask = UINT32_MAX;
  // Without filters, a chunk in the file has its full size, even at the edge.
  if (chunk.mask == UINT32_MAX && bytes != array_.chunk_bytes())
    return Damaged();
  if (bytes == 0) return Damaged();
  FOREBAY_ASSIGN_OR_RETURN(chunk.offset, file.Locate(address, bytes));
  FOREBAY_RETURN_IF_ERROR(file.memory().MakeRoom(chunks_, 1));
  chunks_.push_back(chunk);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<StoredChunk>> ChunkWalk::Take() {
  std::sort(chunks_.begin(), chunks_.end(),
            [](const StoredChunk& a, const StoredChunk& b) {
              return a.number < b.number;
            });
  const auto twice =
      std::adjacent_find(chunks_.begin(), chunks_.end(),
                         [](const StoredChunk& a, const StoredChunk& b) {
                           return a.number == b.number;
                         });
  if (twice != chunks_.end()) return Damaged();
  return std::move(chunks_);
}

}  // namespace forebay::dataset::hdf5
