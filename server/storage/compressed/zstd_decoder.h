#ifndef FOREBAY_SERVER_STORAGE_COMPRESSED_ZSTD_DECODER_H_
#define FOREBAY_SERVER_STORAGE_COMPRESSED_ZSTD_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::storage::compressed {

// Decodes zstd frames, one after another, with libzstd.
//
// Not thread-safe. The decoder owns BytesOf(window) bytes of memory. Never
// blocks. After an error, only Reset makes the decoder usable again. The
// message is only the reason: DATA_LOSS (a frame is damaged, or has too long a
// window), RESOURCE_EXHAUSTED (there is no memory).
class ZstdDecoder {
 public:
  // Makes a decoder for frames with windows of at most 2^most_window_log bytes.
  explicit ZstdDecoder(int most_window_log);
  ~ZstdDecoder();
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;

  // Returns the bytes of memory that a decoder takes for frames with windows of
  // `window_bytes` bytes.
  static constexpr std::uint64_t BytesOf(std::uint64_t window_bytes) {
    return window_bytes + (std::uint64_t{640} << 10);
  }

  // The progress that a call of Decode made.
  struct Step {
    // The compressed bytes that were taken.
    std::size_t took = 0;
    // The bytes that were written.
    std::size_t output_bytes = 0;
    // Whether the frame is over. If it is not over and `out` is full, the taken
    // bytes may give more output.
    bool is_frames_end = false;
  };
  // Takes some compressed bytes, and writes what they decompress to at the
  // beginning of `out`.
  absl::StatusOr<Step> Decode(absl::Span<const std::uint8_t> compressed,
                              absl::Span<std::uint8_t> out);

  // Makes the decoder ready for the beginning of a frame.
  void Reset();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_SERVER_STORAGE_COMPRESSED_ZSTD_DECODER_H_
