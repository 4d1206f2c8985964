#ifndef FOREBAY_SERVER_DATASET_HDF5_BYTE_CURSOR_H_
#define FOREBAY_SERVER_DATASET_HDF5_BYTE_CURSOR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/types/span.h"

namespace forebay::dataset::hdf5 {

using Bytes = absl::Span<const std::uint8_t>;

// The Undefined Address, whose bits are all ones. A structure with this address
// does not exist. ByteCursor widens a narrower address whose bits are all ones
// to this value.
inline constexpr std::uint64_t kNoAddress = UINT64_MAX;

// Bytes of an address ("size of offsets") and of a length ("size of lengths")
// in a file. The superblock gives both.
struct Widths {
  std::size_t address = 8;
  std::size_t length = 8;
};

// Takes little-endian numbers off the front of some bytes. Reading beyond the
// end gives zeros and clears ok(), so that callers check once, at the end.
//
// Used by one thread. Does not own the bytes, which outlive it. Never blocks.
class ByteCursor {
 public:
  // Begins at the first byte. Addresses and lengths have the given widths.
  explicit ByteCursor(Bytes bytes, const Widths& widths = {})
      : rest_(bytes), widths_(widths) {}

  // Whether no call has read beyond the end.
  bool ok() const { return ok_; }
  // Returns the bytes that were not taken yet.
  Bytes rest() const { return rest_; }

  // Takes `count` bytes. Returns none if fewer are left.
  Bytes TakeBytes(std::uint64_t count) {
    if (count > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const Bytes taken = rest_.first(count);
    rest_.remove_prefix(count);
    return taken;
  }
  void Skip(std::uint64_t count) { TakeBytes(count); }
  // Takes a number of `width` bytes, at most 8.
  std::uint64_t Take(std::size_t width) {
    std::uint64_t number = 0;
    const Bytes bytes = TakeBytes(width);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      number |= std::uint64_t{bytes[i]} << (8 * i);
    return number;
  }
  std::uint64_t TakeLength() { return Take(widths_.length); }
  // Takes an address; kNoAddress if all its bits are ones.
  std::uint64_t TakeAddress() {
    const std::uint64_t address = Take(widths_.address);
    const std::uint64_t none = UINT64_MAX >> (64 - 8 * widths_.address);
    return address == none ? kNoAddress : address;
  }
  // Takes a text and the zero byte that ends it. Returns an empty text if no
  // zero byte follows.
  std::string_view TakeText() {
    const auto* const end =
        std::find(rest_.begin(), rest_.end(), std::uint8_t{0});
    const std::string_view text(reinterpret_cast<const char*>(rest_.data()),
                                static_cast<std::size_t>(end - rest_.begin()));
    Skip(text.size() + 1);
    return ok_ ? text : std::string_view();
  }
  // Takes as many bytes as `signature` has. Returns whether these bytes equal
  // `signature`.
  bool TakeSignature(std::string_view signature) {
    const Bytes bytes = TakeBytes(signature.size());
    return bytes.size() == signature.size() &&
           std::equal(bytes.begin(), bytes.end(), signature.begin(),
                      [](std::uint8_t a, char b) {
                        return a == static_cast<std::uint8_t>(b);
                      });
  }

 private:
  Bytes rest_;
  const Widths widths_;
  bool ok_ = true;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_BYTE_CURSOR_H_
