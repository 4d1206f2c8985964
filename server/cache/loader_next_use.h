#ifndef FOREBAY_SERVER_CACHE_LOADER_NEXT_USE_H_
#define FOREBAY_SERVER_CACHE_LOADER_NEXT_USE_H_

#include <cstdint>

#include "absl/types/span.h"

namespace forebay::cache {

// Tells when one loader wants each sample of its dataset next.
//
// Thread-safe: reading threads call it while the loader moves on. Must not
// block for long: each sample takes the same short time. No errors: the loader
// never wants a sample that it does not know.
class LoaderNextUse {
 public:
  virtual ~LoaderNextUse() = default;

  // Lowers each of `nanos` to the time from `now_nanos` until the loader wants
  // that one of `samples`, if that is sooner; not below 0. The spans have equal
  // lengths.
  virtual void Lower(std::int64_t now_nanos,
                     absl::Span<const std::uint64_t> samples,
                     absl::Span<std::int64_t> nanos) const = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_LOADER_NEXT_USE_H_
