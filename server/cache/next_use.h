#ifndef FOREBAY_SERVER_CACHE_NEXT_USE_H_
#define FOREBAY_SERVER_CACHE_NEXT_USE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "server/storage/byte_source.h"

namespace forebay::cache {

// Answers of NextUse that are not a number of nanoseconds.
inline constexpr std::int64_t kNever =
    INT64_MAX;  // no registered loader wants it
inline constexpr std::int64_t kUnknown = -1;

// Tells when samples are wanted again by any reader; eviction is based on it.
//
// Thread-safe. Must not block for long. No errors: a wrong answer costs a hit,
// never a wrong byte.
class NextUse {
 public:
  virtual ~NextUse() = default;

  // Writes to `nanos` the time from `now_nanos` until each of `samples` is
  // wanted: not negative, kNever or kUnknown. The spans have equal lengths.
  virtual void Ask(std::int64_t now_nanos,
                   absl::Span<const storage::SampleRef> samples,
                   absl::Span<std::int64_t> nanos) const = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_NEXT_USE_H_
