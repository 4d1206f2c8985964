// Follows the variable-length codes of GIF's LZW compression (GIF89a, Appendix
// F).
//
// The code table begins with a code for each color, a clear code and an end
// code. Each code that is read adds an entry: the previous code's string and
// one more pixel. For a check, only the strings' lengths matter, so an entry is
// just a length. A code is valid if it is at most the number of the next free
// entry. A code that equals that number stands for the entry that is added when
// the code is read.

#include "server/pipeline/decode/gif_codes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace forebay::pipeline::decode {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

// The most bits of a code (Appendix F).
constexpr unsigned kMostCodeBits = 12;
constexpr unsigned kMostCodes = 1U << kMostCodeBits;

// Takes codes out of a frame's data sub-blocks, lowest bits first.
class CodeReader {
 public:
  explicit CodeReader(Bytes data) : data_(data) {}

  // Returns the next code, of `bits` bits; nullopt behind the last whole
  // sub-block.
  std::optional<unsigned> Take(unsigned bits) {
    while (held_ < bits) {
      if (block_left_ == 0 && !EnterBlock()) return std::nullopt;
      buffer_ |= unsigned{data_.front()} << held_;
      held_ += 8;
      --block_left_;
      data_.remove_prefix(1);
    }
    const unsigned code = buffer_ & ((1U << bits) - 1);
    buffer_ >>= bits;
    held_ -= bits;
    return code;
  }

 private:
  // Goes on to the next sub-block. Returns false if the next sub-block is the
  // terminator or is cut off.
  bool EnterBlock() {
    if (data_.empty()) return false;
    block_left_ = data_.front();
    data_.remove_prefix(1);
    return block_left_ != 0 && block_left_ <= data_.size();
  }

  Bytes data_;
  std::size_t block_left_ = 0;
  unsigned buffer_ = 0;
  // Bits in `buffer_` that are not yet taken.
  unsigned held_ = 0;
};

// The code table. For each code, it has the length of the code's string in
// pixels.
class StringLengths {
 public:
  explicit StringLengths(unsigned bits) : bits_(bits) { Clear(); }

  unsigned clear_code() const { return 1U << bits_; }
  unsigned end_code() const { return clear_code() + 1; }
  unsigned code_bits() const { return code_bits_; }

  // Resets the table, as a clear code demands.
  void Clear() {
    next_ = clear_code() + 2;
    code_bits_ = bits_ + 1;
    last_ = 0;
  }

  // Adds an entry to the table. Returns the length in pixels of the string of
  // `code`; 0 if the code has no string.
  std::uint32_t Follow(unsigned code) {
    if (last_ == 0) {
      if (code >= clear_code()) return 0;
      return last_ = 1;
    }
    if (code > next_) return 0;
    const std::uint32_t added = last_ + 1;
    if (next_ < kMostCodes) {
      lengths_[next_] = added;
      if (next_ == (1U << code_bits_) - 1 && code_bits_ < kMostCodeBits)
        ++code_bits_;
      ++next_;
    }
    return last_ = code < clear_code() ? 1 : lengths_[code];
  }

 private:
  const unsigned bits_;
  unsigned next_ = 0;
  unsigned code_bits_ = 0;
  // Length of the last string; 0 after a clear.
  std::uint32_t last_ = 0;
  std::array<std::uint32_t, kMostCodes> lengths_{};
};

}  // namespace

GifCodes CheckGifCodes(Bytes data, unsigned bits, std::uint64_t pixels) {
  CodeReader reader(data);
  StringLengths lengths(bits);
  while (pixels > 0) {
    const std::optional<unsigned> code = reader.Take(lengths.code_bits());
    if (!code.has_value() || *code == lengths.end_code())
      return GifCodes::kTruncated;
    if (*code == lengths.clear_code()) {
      lengths.Clear();
      continue;
    }
    const std::uint32_t length = lengths.Follow(*code);
    if (length == 0) return GifCodes::kCorrupt;
    pixels -= std::min<std::uint64_t>(pixels, length);
  }
  return GifCodes::kWhole;
}

}  // namespace forebay::pipeline::decode
