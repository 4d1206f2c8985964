#ifndef FOREBAY_SERVER_STORAGE_HTTP_RETRY_POLICY_H_
#define FOREBAY_SERVER_STORAGE_HTTP_RETRY_POLICY_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "server/schedule/token_bucket.h"

namespace forebay::storage::http {

// The limits of the retries to one host.
struct RetryOptions {
  // The most attempts of one call, the first included.
  int attempts = 12;
  // The delay before retry n is at most first_delay * 2^(n - 1), and at most
  // max_delay.
  std::int64_t first_delay_nanos = 200'000'000;
  std::int64_t max_delay_nanos = 30'000'000'000;
  // The longest wait that a server may ask for: a call that would wait longer
  // ends.
  std::int64_t max_asked_nanos = 120'000'000'000;
  // The budget of all calls together. A retry beyond the budget waits. If it
  // would wait longer than `max_delay_nanos`, the call ends instead.
  double retries_per_second = 50;
  double retry_burst = 100;
};

// Decides whether, and when, to repeat a call that failed: by exponential
// back-off with full jitter, within one budget for the host. Retries therefore
// do not overload a slow server. Source: Brooker, "Exponential backoff and
// jitter", AWS Architecture Blog, 2015.
//
// Pure: time is an argument, and randomness comes from the seed and the number
// of the call. Not thread-safe; the user owns it. Never blocks; no errors.
class RetryPolicy {
 public:
  RetryPolicy(const RetryOptions& options, std::uint64_t seed,
              std::int64_t now_nanos);

  // Whether a fault may pass, after `attempts` attempts of the call.
  // UNAVAILABLE and DATA_LOSS may pass. UNIMPLEMENTED may pass until the sixth
  // attempt: a name may stand for several servers, only one of which lacks what
  // is asked for.
  static bool MayPass(const absl::Status& error, int attempts = 1);

  // Returns the time of the next attempt, after `attempts` (1 or more) attempts
  // of the call have failed; nullopt if there is none. `asked_nanos` is the
  // wait that the server asks for; 0 if it asks for none. The result is at most
  // `latest_nanos`, unless the budget requires a longer wait.
  std::optional<std::int64_t> NextAttempt(
      std::uint64_t call, int attempts, std::int64_t asked_nanos,
      std::int64_t now_nanos, std::int64_t latest_nanos = INT64_MAX);

  // Takes a retry off the budget for a request that is made beside another.
  // Returns false if the budget has no retry now.
  bool TryRepeat(std::int64_t now_nanos) {
    return budget_.TryTake(1, now_nanos);
  }
  // Whether the budget is full, as it is at the policy's start.
  bool IsUnused(std::int64_t now_nanos) {
    return budget_.ReadyAt(options_.retry_burst, now_nanos) <= now_nanos;
  }

 private:
  const RetryOptions options_;
  const std::uint64_t seed_;
  schedule::TokenBucket budget_;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_RETRY_POLICY_H_
