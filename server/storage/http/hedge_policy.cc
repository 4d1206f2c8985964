#include "server/storage/http/hedge_policy.h"

#include <algorithm>

#include "server/base/check.h"

namespace forebay::storage::http {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// The number of first bytes after which the usual time is known.
constexpr std::uint64_t kEnough = 20;

}  // namespace

HedgePolicy::HedgePolicy(const HedgeOptions& options)
    : options_(options), budget_(options.share, options.burst, 0) {
  FOREBAY_CHECK(options.quantile > 0 && options.quantile <= 1 &&
                options.lateness > 0);
}

void HedgePolicy::OnBusy(std::int64_t now_nanos) {
  quiet_until_nanos_ = now_nanos + options_.quiet_nanos;
}

std::int64_t HedgePolicy::DelayNanos() const {
  if (first_bytes_.count() < kEnough) return options_.first_delay_nanos;
  const auto usual =
      static_cast<double>(first_bytes_.Quantile(options_.quantile));
  // The bound of an hour keeps sums with the clock's time from overflowing.
  const double delay = std::min(options_.lateness * usual, 3600.0 * kSecond);
  return std::max(static_cast<std::int64_t>(delay), options_.min_delay_nanos);
}

bool HedgePolicy::TryHedge(std::int64_t now_nanos) {
  return now_nanos >= quiet_until_nanos_ &&
         budget_.TryTake(1, requests_ * kSecond);
}

}  // namespace forebay::storage::http
