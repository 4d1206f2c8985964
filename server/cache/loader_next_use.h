#ifndef FOREBAY_SERVER_CACHE_LOADER_NEXT_USE_H_
#define FOREBAY_SERVER_CACHE_LOADER_NEXT_USE_H_

#include <cstdint>

#include "absl/types/span.h"

namespace forebay::cache {

// Tells when one loader wants each sample of its dataset next.
//
// Thread-safe: reading threads call it while the loader moves on. Shared by the
// loader and the registry. Must not block for long: each sample takes the same
// short time. Has no errors: a loader never wants a sample that it does not
// know.
class LoaderNextUse {
 public:
  virtual ~LoaderNextUse() = default;

  // Finds for each of `samples` the time from `now_nanos` until the loader
  // wants it next. If the element of `nanos` at the same index is larger,
  // replaces the element by that time. The times are nanoseconds, at least 0.
  // The spans have equal lengths.
  virtual void Lower(std::int64_t now_nanos,
                     absl::Span<const std::uint64_t> samples,
                     absl::Span<std::int64_t> nanos) const = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_LOADER_NEXT_USE_H_
