#ifndef FOREBAY_SERVER_STORAGE_HTTP_HEDGE_POLICY_H_
#define FOREBAY_SERVER_STORAGE_HTTP_HEDGE_POLICY_H_

#include <cstdint>

#include "server/schedule/quantile_sketch.h"
#include "server/schedule/token_bucket.h"

namespace forebay::storage::http {

// The rules for making a late request a second time.
struct HedgeOptions {
  // The most second requests, as a share of the first requests; more than 0.
  double share = 0.05;
  // The number of second requests that may be made at once beyond that share.
  double burst = 8;
  // A first byte is late after `lateness` times the `quantile` of all times to
  // the first byte.
  double quantile = 0.95;
  double lateness = 2;
  // The delays before a second request. `first_delay_nanos` applies while too
  // few first bytes have come to tell the usual time. Later, the delay is at
  // least `min_delay_nanos`.
  std::int64_t first_delay_nanos = 1'000'000'000;
  std::int64_t min_delay_nanos = 2'000'000;
  // For this time after a server said that it is overloaded, no second requests
  // are made.
  std::int64_t quiet_nanos = 1'000'000'000;
};

// Decides whether, and when, to make a request a second time because the first
// byte of its answer is late. Source: Dean and Barroso, "The tail at scale",
// CACM 2013.
//
// Pure: time is an argument, in nanoseconds that never run backwards. Not
// thread-safe; the user owns it. Never blocks; no errors.
class HedgePolicy {
 public:
  explicit HedgePolicy(const HedgeOptions& options = {});

  // Counts a first request.
  void OnRequest() { ++requests_; }
  // Counts the first byte of a good answer, which came `nanos` after the
  // request.
  void OnFirstByte(std::int64_t nanos) { first_bytes_.Add(nanos); }
  // Takes note that a server answered that it is overloaded.
  void OnBusy(std::int64_t now_nanos);

  // Returns the nanoseconds after which a first byte is late.
  std::int64_t DelayNanos() const;
  // Takes a second request off the budget. Returns false if no second request
  // may be made now.
  bool TryHedge(std::int64_t now_nanos);

  // Returns the median time to the first byte, or 0 if it is unknown.
  std::int64_t UsualNanos() const { return first_bytes_.Quantile(0.5); }

 private:
  const HedgeOptions options_;
  schedule::QuantileSketch first_bytes_;
  // A second of this bucket's time stands for one first request. Each first
  // request therefore adds `share` of a second request.
  schedule::TokenBucket budget_;
  std::int64_t requests_ = 0;
  std::int64_t quiet_until_nanos_ = INT64_MIN;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_HEDGE_POLICY_H_
