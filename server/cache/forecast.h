#ifndef FOREBAY_SERVER_CACHE_FORECAST_H_
#define FOREBAY_SERVER_CACHE_FORECAST_H_

#include <cstdint>

#include "absl/types/span.h"

namespace forebay::cache {

// When one loader wants each sample of its dataset next. Thread-safe: asked by
// whoever reads, while the loader moves on. Must not block for long: a question
// takes the same short time for every sample. No errors: a sample that the
// loader does not know is one that it never wants.
class Forecast {
 public:
  virtual ~Forecast() = default;

  // Lowers each of `nanos` to the time from `now_nanos` until the loader wants
  // that one of `samples`, where that is sooner; not below 0. The spans are of
  // one length.
  virtual void Lower(std::int64_t now_nanos,
                     absl::Span<const std::uint64_t> samples,
                     absl::Span<std::int64_t> nanos) const = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_FORECAST_H_
