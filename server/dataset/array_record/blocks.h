#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_BLOCKS_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_BLOCKS_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"

// The blocks of a Riegeli file, the format below ArrayRecord. The file is a
// sequence of chunks. A block header of 24 bytes lies at every multiple of 64
// KiB, and interrupts any chunk there. Block headers serve readers that look
// for a chunk from the middle of a file. Readers that know where a chunk begins
// step over them (github.com/google/riegeli,
// doc/riegeli_records_file_format.md).

namespace forebay::dataset::array_record {

inline constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << 16;
inline constexpr std::uint64_t kBlockHeaderBytes = 24;

// Whether a chunk can begin at `offset` in a file. A chunk cannot begin within
// a block header, or right after one: such a chunk begins at the block's start,
// before the block header.
constexpr bool CanBeginChunk(std::uint64_t offset) {
  const std::uint64_t in_block = offset % kBlockBytes;
  return in_block == 0 || in_block > kBlockHeaderBytes;
}

// Presents a part of a file without its block headers. Thread-safe and
// immutable; points to the caller's bytes; never blocks; has no errors.
class Blocks {
 public:
  // Presents `bytes`, which lie in the file at `offset`. A chunk must be able
  // to begin at `offset`.
  Blocks(std::uint64_t offset, absl::Span<const std::uint8_t> bytes);

  // Number of bytes without block headers. All positions and lengths below
  // leave block headers out.
  std::uint64_t size() const { return size_; }
  // Returns the `length` bytes from `begin` on, or nothing if a block header
  // interrupts them. All these bytes must lie within size().
  std::optional<absl::Span<const std::uint8_t>> Piece(
      std::uint64_t begin, std::uint64_t length) const;
  // Fills `out` with the bytes from `begin` on, stepping over block headers.
  // All these bytes must lie within size().
  void Copy(std::uint64_t begin, absl::Span<std::uint8_t> out) const;

 private:
  const std::uint64_t offset_;
  const absl::Span<const std::uint8_t> bytes_;
  std::uint64_t size_;
};

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_BLOCKS_H_
