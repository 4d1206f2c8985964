#include "server/storage/http/retry_policy.h"

#include <algorithm>

#include "server/base/check.h"
#include "server/base/philox.h"

namespace forebay::storage::http {

RetryPolicy::RetryPolicy(const RetryOptions& options, std::uint64_t seed,
                         std::int64_t now_nanos)
    : options_(options),
      seed_(seed),
      budget_(options.retries_per_second, options.retry_burst, now_nanos) {
  FOREBAY_CHECK(options.attempts > 0);
}

bool RetryPolicy::MayPass(const absl::Status& error, int attempts) {
  // After this many attempts with UNIMPLEMENTED, every server behind the name
  // is assumed to lack what is asked for.
  constexpr int kBelieved = 6;
  return absl::IsUnavailable(error) || absl::IsDataLoss(error) ||
         (absl::IsUnimplemented(error) && attempts < kBelieved);
}

std::optional<std::int64_t> RetryPolicy::NextAttempt(
    std::uint64_t call, int attempts, std::int64_t asked_nanos,
    std::int64_t now_nanos, std::int64_t latest_nanos) {
  if (attempts >= options_.attempts) return std::nullopt;
  if (asked_nanos > options_.max_asked_nanos) return std::nullopt;
  if (budget_.ReadyAt(1, now_nanos) - now_nanos > options_.max_delay_nanos)
    return std::nullopt;
  std::int64_t longest = options_.first_delay_nanos;
  for (int i = 1; i < attempts && longest < options_.max_delay_nanos; ++i)
    longest *= 2;
  longest = std::min(longest, options_.max_delay_nanos);
  base::PhiloxStream random(seed_, 0, call,
                            static_cast<std::uint16_t>(attempts));
  const auto jitter = static_cast<std::int64_t>(
      random.Uniform(0, static_cast<double>(longest)));
  return std::max(std::min(now_nanos + asked_nanos + jitter, latest_nanos),
                  budget_.Reserve(1, now_nanos));
}

}  // namespace forebay::storage::http
