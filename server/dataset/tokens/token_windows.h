#ifndef FOREBAY_SERVER_DATASET_TOKENS_TOKEN_WINDOWS_H_
#define FOREBAY_SERVER_DATASET_TOKENS_TOKEN_WINDOWS_H_

#include <algorithm>
#include <cstdint>

namespace forebay::dataset::tokens {

// Cuts runs of tokens, such as documents, into windows. Window i begins
// `stride` tokens after window i - 1. A plain value; has no errors.
//
// An example: a run of 11 tokens, a length of 4 and a stride of 3 give windows
// that begin at tokens 0, 3 and 6. If `least` is 1 or 2, there is also a window
// of 2 tokens, which begins at token 9.
struct TokenWindows {
  // Number of tokens in each window; the last window may have fewer. Not 0.
  std::uint64_t length = 1;
  std::uint64_t stride = 1;  // tokens; not 0
  std::uint64_t least = 1;   // fewest tokens of the last window, 1 to `length`

  // Returns the number of windows in a run. Only the last window may be shorter
  // than `length`. A shorter window counts only if it has at least `least`
  // tokens, and a token that the window before it lacks.
  std::uint64_t CountIn(std::uint64_t tokens) const {
    if (tokens < least) return 0;
    const std::uint64_t full =
        tokens < length ? 0 : (tokens - length) / stride + 1;
    if (least == length || tokens == length) return full;
    // `full` is the number of windows with `length` tokens. `all` is the number
    // of windows that covers the run's last token. The second argument of min
    // counts only windows of at least `least` tokens.
    const std::uint64_t all =
        tokens < length ? 1 : (tokens - length - 1) / stride + 2;
    return std::min(all, (tokens - least) / stride + 1);
  }
  // Returns the number of tokens of window number `window` of a run. `window`
  // is less than CountIn(tokens).
  std::uint64_t LengthOf(std::uint64_t window, std::uint64_t tokens) const {
    return std::min(length, tokens - window * stride);
  }
};

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_SERVER_DATASET_TOKENS_TOKEN_WINDOWS_H_
