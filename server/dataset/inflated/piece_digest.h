#ifndef FOREBAY_SERVER_DATASET_INFLATED_PIECE_DIGEST_H_
#define FOREBAY_SERVER_DATASET_INFLATED_PIECE_DIGEST_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "server/base/crc32c.h"
#include "server/dataset/object_parser.h"

namespace forebay::dataset::inflated {

// A checksum of small pieces of a compressed file: one of each megabyte, and
// its end. It tells whether a file that was touched is still the same, as the
// headers of one that is not compressed do: other contents have other bits from
// there on. Or one of all of it, where what it inflates to is kept and read in
// its place.
//
// Not thread-safe; owns nothing; never blocks; has no errors.
class PieceDigest {
 public:
  explicit PieceDigest(std::uint64_t size, bool whole = false)
      : size_(size), piece_(whole ? kEach : kPiece) {}

  // The piece that it must see next; nothing if it has seen all.
  std::optional<ByteRange> wanted() const {
    if (at_ >= size_) return std::nullopt;
    return ByteRange{at_, end() - at_};
  }

  // Takes the bytes that lie at `offset`, not behind what it wants: in pieces,
  // or all one behind the other.
  void Take(std::uint64_t offset, absl::Span<const std::uint8_t> bytes) {
    while (at_ < size_ && at_ >= offset && at_ - offset < bytes.size()) {
      const auto part = bytes.subspan(at_ - offset, end() - at_);
      crc32c_ = base::Crc32c(part, crc32c_);
      at_ += part.size();
      if (at_ == end()) Next();
    }
  }

  std::uint32_t crc32c() const { return crc32c_; }

 private:
  static constexpr std::uint64_t kPiece = 4096;
  static constexpr std::uint64_t kEach = std::uint64_t{1} << 20;

  // The end of the piece in which it is.
  std::uint64_t end() const { return std::min(begin_ + piece_, size_); }
  void Next() {
    // The last piece may begin in the one before it.
    const std::uint64_t last = size_ - std::min(size_, piece_);
    begin_ = begin_ >= last ? size_ : std::min(begin_ + kEach, last);
    at_ = std::max(at_, begin_);
  }

  const std::uint64_t size_;
  const std::uint64_t piece_;  // bytes of each
  std::uint64_t begin_ = 0;    // of that piece
  std::uint64_t at_ = 0;       // the next byte
  std::uint32_t crc32c_ = 0;
};

// Reads those pieces of a file alone. As ObjectParser says.
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

  std::uint32_t crc32c() const { return digest_.crc32c(); }

 private:
  PieceDigest digest_;
};

}  // namespace forebay::dataset::inflated

#endif  // FOREBAY_SERVER_DATASET_INFLATED_PIECE_DIGEST_H_
