#ifndef FOREBAY_SERVER_AUDIO_PARTIAL_FILE_H_
#define FOREBAY_SERVER_AUDIO_PARTIAL_FILE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/types/span.h"

namespace forebay::audio {

// A file of which some bytes are at hand: all bytes, the first ones, or the
// first and the last ones. Notes whether Read was asked for a byte that is not
// at hand. Not thread-safe. Borrows the bytes. Never blocks. No errors.
class PartialFile {
 public:
  explicit PartialFile(absl::Span<const std::uint8_t> whole)
      : size_(whole.size()), head_(whole) {}
  // `size` is the length of the whole file in bytes. `head` and `tail` are the
  // file's first and last bytes.
  PartialFile(std::uint64_t size, absl::Span<const std::uint8_t> head,
              absl::Span<const std::uint8_t> tail)
      : size_(size), head_(head), tail_(tail) {}

  std::uint64_t size() const { return size_; }
  absl::Span<const std::uint8_t> head() const { return head_; }
  bool is_whole() const { return head_.size() == size_; }
  // Whether Read was asked for bytes that are not at hand.
  bool lacked_bytes() const { return lacked_bytes_; }

  // Copies up to `count` bytes, from offset `at` on, to `out`. Returns how many
  // were copied: fewer than `count` if the file ends or bytes are not at hand.
  std::size_t Read(std::uint64_t at, std::size_t count, void* out) {
    if (at >= size_) return 0;
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(count, size_ - at));
    const std::uint64_t tail_begin = size_ - tail_.size();
    absl::Span<const std::uint8_t> there;
    if (at < head_.size()) {
      there = head_.subspan(at, wanted);
    } else if (at >= tail_begin) {
      there = tail_.subspan(at - tail_begin, wanted);
    }
    if (there.size() < wanted) lacked_bytes_ = true;
    if (!there.empty()) std::memcpy(out, there.data(), there.size());
    return there.size();
  }

 private:
  std::uint64_t size_;
  absl::Span<const std::uint8_t> head_;
  absl::Span<const std::uint8_t> tail_;
  bool lacked_bytes_ = false;
};

}  // namespace forebay::audio

#endif  // FOREBAY_SERVER_AUDIO_PARTIAL_FILE_H_
