#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_BLOCKS_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_BLOCKS_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"

// The blocks of a Riegeli file. It is a sequence of chunks that a header
// interrupts at every multiple of 64 KiB, wherever that is. The headers serve
// readers that look for a chunk; those who know where one begins step over
// them (github.com/google/riegeli, doc/riegeli_records_file_format.md).

namespace forebay::dataset::array_record {

inline constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << 16;
inline constexpr std::uint64_t kBlockHeaderBytes = 24;

// Whether a chunk can begin there: not in a block's header, nor right behind
// it. One that begins with a block begins before the header.
constexpr bool CanBeginChunk(std::uint64_t offset) {
  const std::uint64_t in_block = offset % kBlockBytes;
  return in_block == 0 || in_block > kBlockHeaderBytes;
}

// A part of a file, without the headers of blocks. Points to its bytes.
// Thread-safe; immutable; never blocks; has no errors.
class Blocks {
 public:
  // `bytes` lie in the file at `offset`, where a chunk can begin.
  Blocks(std::uint64_t offset, absl::Span<const std::uint8_t> bytes);

  // Bytes without headers. All below counts in these.
  std::uint64_t size() const { return size_; }
  // Returns so many bytes if no header interrupts them. All lie within size().
  std::optional<absl::Span<const std::uint8_t>> Piece(
      std::uint64_t begin, std::uint64_t length) const;
  // Copies the bytes from `begin` on; all lie within size().
  void Copy(std::uint64_t begin, absl::Span<std::uint8_t> out) const;

 private:
  const std::uint64_t offset_;
  const absl::Span<const std::uint8_t> bytes_;
  std::uint64_t size_;
};

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_BLOCKS_H_
