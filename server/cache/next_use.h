#ifndef FOREBAY_SERVER_CACHE_NEXT_USE_H_
#define FOREBAY_SERVER_CACHE_NEXT_USE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "server/storage/byte_source.h"

namespace forebay::cache {

// The answer of NextUse for a sample that no registered loader wants.
inline constexpr std::int64_t kNever = INT64_MAX;
// The answer of NextUse for a sample of which it knows nothing.
inline constexpr std::int64_t kUnknown = -1;

// Tells when samples are wanted again by any reader. Eviction relies on the
// answers.
//
// Thread-safe. The daemon owns it, and it outlives the caches that ask. Must
// not block for long. Has no errors: a wrong answer costs a hit, never a wrong
// byte.
class NextUse {
 public:
  virtual ~NextUse() = default;

  // Writes to `nanos` the time from `now_nanos` until each of `samples` is
  // wanted: nanoseconds of at least 0, kNever or kUnknown. The spans have equal
  // lengths.
  virtual void Ask(std::int64_t now_nanos,
                   absl::Span<const storage::SampleRef> samples,
                   absl::Span<std::int64_t> nanos) const = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_NEXT_USE_H_
