#ifndef FOREBAY_SERVER_DATASET_TOKENS_WINDOWS_H_
#define FOREBAY_SERVER_DATASET_TOKENS_WINDOWS_H_

#include <algorithm>
#include <cstdint>

namespace forebay::dataset::tokens {

// How runs of tokens, such as documents, are cut into windows: window i begins
// `stride` tokens behind window i - 1. An immutable value.
struct Windows {
  std::uint64_t length = 1;  // tokens, at least 1; of the last one perhaps less
  std::uint64_t stride = 1;  // tokens, at least 1
  std::uint64_t least = 1;   // the fewest tokens of a window, 1 to `length`

  // The windows of a run of so many tokens. A shorter one is the last that has
  // any tokens which the one before it lacks.
  std::uint64_t CountIn(std::uint64_t tokens) const {
    if (tokens < least) return 0;
    const std::uint64_t full =
        tokens < length ? 0 : (tokens - length) / stride + 1;
    if (least == length || tokens == length) return full;
    const std::uint64_t all =
        tokens < length ? 1 : (tokens - length - 1) / stride + 2;
    return std::min(all, (tokens - least) / stride + 1);
  }
  // The tokens of window `window`, which is less than CountIn(tokens).
  std::uint64_t LengthOf(std::uint64_t window, std::uint64_t tokens) const {
    return std::min(length, tokens - window * stride);
  }
};

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_SERVER_DATASET_TOKENS_WINDOWS_H_
