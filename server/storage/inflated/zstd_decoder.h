#ifndef FOREBAY_SERVER_STORAGE_INFLATED_ZSTD_DECODER_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_ZSTD_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::storage::inflated {

// Decodes zstd frames, one behind the other, by libzstd.
//
// Not thread-safe. Owns BytesOf its frames' window. Never blocks. Errors end
// it until it is reset, and give the reason alone: DATA_LOSS: a frame is
// damaged, or has a longer window; RESOURCE_EXHAUSTED: there is no memory.
class ZstdDecoder {
 public:
  // Takes frames of a window of at most 2^most_window_log bytes.
  explicit ZstdDecoder(int most_window_log);
  ~ZstdDecoder();
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;

  // Memory of one that decodes frames of that window.
  static constexpr std::uint64_t BytesOf(std::uint64_t window_bytes) {
    return window_bytes + (std::uint64_t{640} << 10);
  }

  struct Step {
    std::size_t took = 0;  // bytes
    std::size_t made = 0;  // bytes
    // Whether a frame is over. If not, and `out` is full, there may be more to
    // be made of what was taken.
    bool is_frames_end = false;
  };
  // Takes some bytes, and writes what they are to the beginning of `out`.
  absl::StatusOr<Step> Decode(absl::Span<const std::uint8_t> packed,
                              absl::Span<std::uint8_t> out);

  // Begins anew, with a frame's begin.
  void Reset();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_ZSTD_DECODER_H_
