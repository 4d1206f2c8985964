#ifndef FOREBAY_SERVER_DATASET_HDF5_CURSOR_H_
#define FOREBAY_SERVER_DATASET_HDF5_CURSOR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/types/span.h"

namespace forebay::dataset::hdf5 {

using Bytes = absl::Span<const std::uint8_t>;

// An address that leads nowhere: what it would lead to does not exist.
inline constexpr std::uint64_t kNoAddress = UINT64_MAX;

// How many bytes addresses and lengths have in a file.
struct Widths {
  std::size_t address = 8;
  std::size_t length = 8;
};

// Takes little-endian numbers off some bytes, from the front. Beyond their end
// it gives zeros, and is no longer ok(). Used by one thread; the bytes outlive
// it; never blocks.
class Cursor {
 public:
  explicit Cursor(Bytes bytes, const Widths& widths = {})
      : rest_(bytes), widths_(widths) {}

  bool ok() const { return ok_; }
  Bytes rest() const { return rest_; }

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
  // A number of so many bytes, at most 8.
  std::uint64_t Take(std::size_t width) {
    std::uint64_t number = 0;
    const Bytes bytes = TakeBytes(width);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      number |= std::uint64_t{bytes[i]} << (8 * i);
    return number;
  }
  std::uint64_t TakeLength() { return Take(widths_.length); }
  std::uint64_t TakeAddress() {
    const std::uint64_t address = Take(widths_.address);
    const std::uint64_t none = UINT64_MAX >> (64 - 8 * widths_.address);
    return address == none ? kNoAddress : address;
  }
  // Takes the text up to a zero, and that too.
  std::string_view TakeText() {
    const auto* const end =
        std::find(rest_.begin(), rest_.end(), std::uint8_t{0});
    const std::string_view text(reinterpret_cast<const char*>(rest_.data()),
                                static_cast<std::size_t>(end - rest_.begin()));
    Skip(text.size() + 1);
    return ok_ ? text : std::string_view();
  }
  // Whether the bytes go on so; takes that.
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

#endif  // FOREBAY_SERVER_DATASET_HDF5_CURSOR_H_
