#ifndef FOREBAY_SERVER_DATASET_COMPRESSED_PIECE_DIGEST_H_
#define FOREBAY_SERVER_DATASET_COMPRESSED_PIECE_DIGEST_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "server/base/crc32c.h"
#include "server/dataset/object_parser.h"

namespace forebay::dataset::compressed {

// A checksum (CRC-32C) of small pieces of a compressed file: one in each
// mebibyte, and one at the file's end. The checksum tells whether a file whose
// ctime changed is still the same: if the content differs at one place, all
// compressed bits behind that place differ, too. If `whole` is set, the
// checksum covers all bytes. This is needed if decompressed pieces of the file
// are kept and served in its place.
//
// Not thread-safe. Owns only its state. Never blocks. Has no errors.
class PieceDigest {
 public:
  // `size` is the file's size in bytes.
  explicit PieceDigest(std::uint64_t size, bool whole = false)
      : size_(size), piece_(whole ? kEach : kPiece) {}

  // Returns the part of the present piece that is not digested yet. Returns
  // nothing when all pieces are digested.
  std::optional<ByteRange> wanted() const {
    if (at_ >= size_) return std::nullopt;
    return ByteRange{at_, end() - at_};
  }

  // Digests the wanted part of `bytes`, which lie at `offset` in the file. The
  // caller passes either the wanted pieces, or all bytes of the file in order.
  void Take(std::uint64_t offset, absl::Span<const std::uint8_t> bytes) {
    while (at_ < size_ && at_ >= offset && at_ - offset < bytes.size()) {
      const auto part = bytes.subspan(at_ - offset, end() - at_);
      crc32c_ = base::Crc32c(part, crc32c_);
      at_ += part.size();
      if (at_ == end()) Next();
    }
  }

  // Returns the checksum. All pieces must be digested.
  std::uint32_t crc32c() const { return crc32c_; }

 private:
  // The length of a piece, and the distance between the starts of successive
  // pieces, in bytes.
  static constexpr std::uint64_t kPiece = 4096;
  static constexpr std::uint64_t kEach = std::uint64_t{1} << 20;

  // Returns the end of the present piece.
  std::uint64_t end() const { return std::min(begin_ + piece_, size_); }
  // Goes on to the next piece.
  void Next() {
    // The last piece may overlap the piece before it.
    const std::uint64_t last = size_ - std::min(size_, piece_);
    begin_ = begin_ >= last ? size_ : std::min(begin_ + kEach, last);
    at_ = std::max(at_, begin_);
  }

  const std::uint64_t size_;
  const std::uint64_t piece_;  // bytes of each piece
  std::uint64_t begin_ = 0;    // where the present piece begins
  std::uint64_t at_ = 0;       // offset of the next byte to digest
  std::uint32_t crc32c_ = 0;
};

// Reads and digests only the pieces of a file. For threads, ownership, blocking
// and errors, see ObjectParser.
class PieceParser final : public ObjectParser {
 public:
  explicit PieceParser(std::uint64_t size, bool whole = false)
      : digest_(size, whole) {}

  std::optional<ByteRange> next_read() const override {
    return digest_.wanted();
  }
  absl::Status Take(absl::Span<const std::uint8_t> bytes) override {
    digest_.Take(digest_.wanted()->offset, bytes);
    return absl::OkStatus();
  }

  // Returns the checksum, once next_read() returns nothing.
  std::uint32_t crc32c() const { return digest_.crc32c(); }

 private:
  PieceDigest digest_;
};

}  // namespace forebay::dataset::compressed

#endif  // FOREBAY_SERVER_DATASET_COMPRESSED_PIECE_DIGEST_H_
