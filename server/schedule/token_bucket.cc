#include "server/schedule/token_bucket.h"

#include <algorithm>
#include <cmath>

#include "server/base/check.h"

namespace forebay::schedule {

TokenBucket::TokenBucket(double rate, double burst, std::int64_t now_nanos)
    : rate_(rate), burst_(burst), tokens_(burst), last_nanos_(now_nanos) {
  FOREBAY_CHECK(rate > 0 && burst > 0);
}

bool TokenBucket::TryTake(double amount, std::int64_t now_nanos) {
  if (ReadyAt(amount, now_nanos) > now_nanos) return false;
  tokens_ -= amount;
  return true;
}

std::int64_t TokenBucket::ReadyAt(double amount, std::int64_t now_nanos) {
  Accrue(now_nanos);
  const double missing = Needed(amount) - tokens_;
  if (missing <= 0) return now_nanos;
  const double wait_nanos = std::ceil(missing / rate_ * 1e9);
  // The bound also keeps the conversion to an integer in range.
  if (wait_nanos >= static_cast<double>(INT64_MAX / 2) - now_nanos)
    return INT64_MAX;
  return now_nanos + static_cast<std::int64_t>(wait_nanos);
}

std::int64_t TokenBucket::Reserve(double amount, std::int64_t now_nanos) {
  const std::int64_t ready = ReadyAt(amount, now_nanos);
  tokens_ -= amount;
  return ready;
}

void TokenBucket::Charge(double amount, std::int64_t now_nanos) {
  Accrue(now_nanos);
  tokens_ = std::min(burst_, tokens_ - amount);
}

void TokenBucket::Accrue(std::int64_t now_nanos) {
  if (now_nanos <= last_nanos_) return;
  tokens_ =
      std::min(burst_, tokens_ + (now_nanos - last_nanos_) * 1e-9 * rate_);
  last_nanos_ = now_nanos;
}

// The amount is reduced by one part in 10^9: rounding must not refuse a caller
// who comes back exactly at the time that ReadyAt returned.
double TokenBucket::Needed(double amount) const {
  return std::min(amount, burst_) * (1 - 1e-9);
}

}  // namespace forebay::schedule
