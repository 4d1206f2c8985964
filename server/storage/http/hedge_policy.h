#ifndef FOREBAY_SERVER_STORAGE_HTTP_HEDGE_POLICY_H_
#define FOREBAY_SERVER_STORAGE_HTTP_HEDGE_POLICY_H_

#include <cstdint>

#include "server/schedule/quantile_sketch.h"
#include "server/schedule/token_bucket.h"

namespace forebay::storage::http {

struct HedgeOptions {
  double share = 0.05;  // second requests, of all requests, at most; > 0
  double burst = 8;     // so many more at a time
  // A first byte is late after so many times the time that this share of them
  // takes.
  double quantile = 0.95;
  double lateness = 2;
  // While too few first bytes have come to know what is usual; and the
  // shortest.
  std::int64_t first_delay_nanos = 1'000'000'000;
  std::int64_t min_delay_nanos = 2'000'000;
  // None for so long after a server asked for fewer requests.
  std::int64_t quiet_nanos = 1'000'000'000;
};

// Whether, and when, a request is made a second time because the first byte of
// its answer is late. Source: Dean and Barroso, "The tail at scale", CACM 2013.
//
// Pure: time is an argument, nanoseconds that never run backwards. Not
// thread-safe; never blocks; no errors.
class HedgePolicy {
 public:
  explicit HedgePolicy(const HedgeOptions& options = {});

  // A request is made, as a first one.
  void OnRequest() { ++requests_; }
  // The first byte of a good answer came so long after the request.
  void OnFirstByte(std::int64_t nanos) { first_bytes_.Add(nanos); }
  // A server answers that it has too much to do.
  void OnBusy(std::int64_t now_nanos);

  // A first byte that has not come after this is late.
  std::int64_t DelayNanos() const;
  // Takes a second request off the budget, if there may be one now.
  bool TryHedge(std::int64_t now_nanos);

  // The usual time to the first byte; 0: not known.
  std::int64_t UsualNanos() const { return first_bytes_.Quantile(0.5); }

 private:
  const HedgeOptions options_;
  schedule::QuantileSketch first_bytes_;
  // Its clock shows a second more with each request.
  schedule::TokenBucket budget_;
  std::int64_t requests_ = 0;
  std::int64_t quiet_until_nanos_ = INT64_MIN;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_HEDGE_POLICY_H_
