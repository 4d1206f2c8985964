#include "server/dataset/hdf5/fractal_heap.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/hdf5/checksum.h"

// A fractal heap has an address space of its own, divided among blocks by a
// doubling table (HDF5 File Format Specification v3.0 III.G). A row of the
// table has `width_` blocks of equal size. Blocks up to the maximum direct size
// contain objects; larger ones are indirect, and have a doubling table of their
// own. The root is a direct block, or an indirect one with `root_rows_` rows.
//
// A Heap ID of a managed object is an offset in the address space and a length.
// To find the object, Descend picks the child whose range contains the offset,
// until the child is a direct block. Depth and rows are bounded, because IDs
// are untrusted. Each block's checksum is checked only once. The heap is
// searched for every link, and hashing a large block each time would take
// quadratic time.

namespace forebay::dataset::hdf5 {
namespace {

constexpr std::uint64_t kChecksum = 4;  // bytes
// Bounds the depth of indirect blocks within indirect blocks, and the rows of
// each, so that damaged blocks cannot lead in a circle.
constexpr int kDeepest = 8;
constexpr std::uint64_t kMostRows = 64;

absl::Status Damaged() {
  return absl::DataLossError("is damaged: a heap of links contradicts itself");
}

}  // namespace

absl::StatusOr<FractalHeap> FractalHeap::Read(FileView& file,
                                              std::uint64_t address) {
  const Widths& widths = file.widths();
  // The header of a compressed heap is longer, because it has filters, too. A
  // compressed heap is refused before its checksum is read, because the
  // checksum lies further back.
  const std::uint64_t bytes = 26 + 12 * widths.length + 3 * widths.address;
  FOREBAY_ASSIGN_OR_RETURN(const Bytes start, file.At(address, 9));
  ByteCursor prefix(start);
  prefix.Skip(7);
  if (prefix.Take(2) != 0)
    return absl::UnimplementedError("has a group whose links are compressed");
  FOREBAY_ASSIGN_OR_RETURN(ByteCursor cursor,
                           file.Checked(address, bytes, "FRHP"));
  FractalHeap heap;
  cursor.Skip(1 + 2 + 2);
  // Bit 1 of the flags: direct blocks have checksums.
  heap.has_checksums_ = (cursor.Take(1) & 2) != 0;
  // Sizes, counters and the two addresses of free space and huge objects are
  // not needed.
  cursor.Skip(4 + widths.length + widths.address + widths.length +
              widths.address + 8 * widths.length);
  heap.width_ = cursor.Take(2);
  heap.first_bytes_ = cursor.TakeLength();
  heap.largest_bytes_ = cursor.TakeLength();
  const std::uint64_t bits = cursor.Take(2);
  cursor.Skip(2);
  heap.root_ = cursor.TakeAddress();
  heap.root_rows_ = cursor.Take(2);
  if (!cursor.ok() || bits == 0 || bits > 62 || heap.width_ == 0 ||
      !std::has_single_bit(heap.first_bytes_) ||
      !std::has_single_bit(heap.largest_bytes_) ||
      heap.first_bytes_ > heap.largest_bytes_ ||
      heap.largest_bytes_ > std::uint64_t{1} << 32 || heap.root_rows_ > bits)
    return Damaged();
  heap.heap_bytes_ = std::uint64_t{1} << bits;
  heap.offset_bytes_ = static_cast<std::size_t>((bits + 7) / 8);
  return heap;
}

std::uint64_t FractalHeap::RowBytes(std::uint64_t row) const {
  return row == 0 ? first_bytes_ : first_bytes_ << (row - 1);
}

absl::StatusOr<Bytes> FractalHeap::Find(FileView& file, Bytes id) {
  ByteCursor cursor(id);
  // Bits 4 and 5 of an ID give the kind of the object: managed (0), huge (1),
  // or tiny (2). A tiny object's bytes are in the ID itself.
  const std::uint64_t kind = cursor.Take(1) >> 4 & 3;
  if (kind == 2) {  // the object is in the ID itself
    const std::uint64_t length = (id[0] & 15u) + 1;
    const Bytes bytes = cursor.TakeBytes(length);
    if (!cursor.ok()) return Damaged();
    return bytes;
  }
  if (kind != 0) {
    return absl::UnimplementedError(
        "has a group with a link that is too long to be read");
  }
  const std::uint64_t offset = cursor.Take(offset_bytes_);
  const std::uint64_t length =
      cursor.Take(std::min<std::size_t>(cursor.rest().size(), 8));
  if (!cursor.ok() || length == 0 || offset >= heap_bytes_ ||
      length > largest_bytes_)
    return Damaged();
  return FindManaged(file, offset, length);
}

absl::StatusOr<Bytes> FractalHeap::FindManaged(FileView& file,
                                               std::uint64_t offset,
                                               std::uint64_t length) {
  Block block{root_, 0, first_bytes_};
  std::uint64_t rows = root_rows_;
  for (int depth = 0; rows > 0; ++depth) {
    if (depth > kDeepest) return Damaged();
    std::uint64_t below = 0;
    FOREBAY_ASSIGN_OR_RETURN(block, Descend(file, block, rows, offset, &below));
    rows = below;
  }
  if (offset < block.offset || offset - block.offset >= block.bytes ||
      length > block.bytes - (offset - block.offset))
    return Damaged();
  if (!has_checksums_)
    return file.At(block.address + (offset - block.offset), length);
  FOREBAY_ASSIGN_OR_RETURN(const Bytes bytes,
                           file.At(block.address, block.bytes));
  if (!checked_.contains({block.address, 0, block.bytes})) {
    FOREBAY_RETURN_IF_ERROR(CheckDirect(file, block, bytes));
    checked_.insert({block.address, 0, block.bytes});
  }
  return bytes.subspan(offset - block.offset, length);
}

// Checks the signature and the checksum of a direct block (III.G). The checksum
// stands after the signature, a version, the address of the heap's header, and
// the block's offset. The checksum covers the whole block; the checksum's own
// four bytes count as zeros.
absl::Status FractalHeap::CheckDirect(FileView& file, const Block& block,
                                      Bytes bytes) const {
  const std::uint64_t before = 5 + file.widths().address + offset_bytes_;
  ByteCursor cursor(bytes);
  if (!cursor.TakeSignature("FHDB")) return Damaged();
  cursor.Skip(before - 4);
  const std::uint64_t expected = cursor.Take(kChecksum);
  if (!cursor.ok()) return Damaged();
  FOREBAY_RETURN_IF_ERROR(file.memory().Grow(bytes.size()));
  const absl::Cleanup counted = [&] { file.memory().Shrink(bytes.size()); };
  std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
  std::fill_n(copy.begin() + static_cast<std::ptrdiff_t>(before), kChecksum,
              std::uint8_t{0});
  if (Lookup3(copy) == expected) return absl::OkStatus();
  FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t begin,
                           file.Locate(block.address, block.bytes));
  return absl::DataLossError(absl::StrCat(
      "is damaged: the checksum of ", bytes.size(), " bytes of links at byte ",
      begin, " is wrong; it is at byte ", begin + before));
}

// Returns the block that covers `offset` among the children of an indirect
// block. Sets `rows_below` to the child's rows if the child is an indirect
// block itself.
absl::StatusOr<FractalHeap::Block> FractalHeap::Descend(
    FileView& file, const Block& block, std::uint64_t rows,
    std::uint64_t offset, std::uint64_t* rows_below) {
  const Widths& widths = file.widths();
  const auto log2 = [](std::uint64_t number) {
    return static_cast<std::uint64_t>(std::bit_width(number)) - 1;
  };
  // Rows have indirect blocks from row `direct_rows` on.
  const std::uint64_t direct_rows =
      log2(largest_bytes_) - log2(first_bytes_) + 2;
  const std::uint64_t prefix = 5 + widths.address + offset_bytes_;
  const std::uint64_t bytes =
      prefix + rows * width_ * widths.address + kChecksum;
  if (!checked_.contains({block.address, rows, bytes})) {
    FOREBAY_RETURN_IF_ERROR(
        file.Checked(block.address, bytes, "FHIB").status());
    checked_.insert({block.address, rows, bytes});
  }
  FOREBAY_ASSIGN_OR_RETURN(const Bytes all, file.At(block.address, bytes));
  std::uint64_t at = block.offset;
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::uint64_t child = RowBytes(row);
    if (child == 0) return Damaged();
    // A row that reaches beyond the heap's end covers the heap up to that end.
    const std::uint64_t bytes_of_row =
        child > heap_bytes_ / width_ ? heap_bytes_ : child * width_;
    if (offset - at >= bytes_of_row) {
      at += bytes_of_row;
      continue;
    }
    const std::uint64_t column = (offset - at) / child;
    ByteCursor cursor(
        all.subspan(prefix + (row * width_ + column) * widths.address), widths);
    const std::uint64_t address = cursor.TakeAddress();
    if (address == kNoAddress || !cursor.ok()) return Damaged();
    if (row >= direct_rows) {
      // An indirect block has as many rows as it takes to fill its size.
      *rows_below = log2(child) - log2(first_bytes_ * width_) + 1;
      if (*rows_below == 0 || *rows_below > kMostRows) return Damaged();
    }
    return Block{address, at + column * child, child};
  }
  return Damaged();
}

}  // namespace forebay::dataset::hdf5
