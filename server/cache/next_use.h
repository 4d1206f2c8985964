#ifndef FOREBAY_SERVER_CACHE_NEXT_USE_H_
#define FOREBAY_SERVER_CACHE_NEXT_USE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "server/storage/byte_source.h"

namespace forebay::cache {

// Answers of NextUse that are no number of nanoseconds.
inline constexpr std::int64_t kNever = INT64_MAX;  // by nobody who is there
inline constexpr std::int64_t kUnknown = -1;

// Says when samples are wanted again, by whichever reader is first: what
// eviction goes by. Thread-safe; never blocks for long; no errors. A wrong
// answer costs a hit, never a wrong byte.
class NextUse {
 public:
  virtual ~NextUse() = default;

  // Nanoseconds from `now_nanos` until each of `samples` is wanted; not
  // negative, kNever or kUnknown. The spans are of one length.
  virtual void Ask(std::int64_t now_nanos,
                   absl::Span<const storage::SampleRef> samples,
                   absl::Span<std::int64_t> nanos) const = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_NEXT_USE_H_
