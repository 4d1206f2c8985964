#ifndef FOREBAY_SERVER_STORAGE_HTTP_RETRY_POLICY_H_
#define FOREBAY_SERVER_STORAGE_HTTP_RETRY_POLICY_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "server/schedule/token_bucket.h"

namespace forebay::storage::http {

struct RetryOptions {
  int attempts = 12;  // of one call, the first included
  // The delay before retry n is at most first * 2^(n - 1), and at most `max`.
  std::int64_t first_delay_nanos = 200'000'000;
  std::int64_t max_delay_nanos = 30'000'000'000;
  // The longest that a server may ask us to wait.
  std::int64_t max_asked_nanos = 120'000'000'000;
  // For all calls together: retries beyond these wait, and end where they would
  // wait longer than `max_delay_nanos`.
  double retries_per_second = 50;
  double retry_burst = 100;
};

// Decides whether, and when, to repeat a call that failed: full-jitter
// exponential back-off within one budget for the host, so that retries do not
// overload a slow server. Source: Brooker, "Exponential backoff and jitter",
// AWS Architecture Blog, 2015.
//
// Pure: time is an argument, randomness comes from the seed and the number of
// the call. Not thread-safe; never blocks; no errors.
class RetryPolicy {
 public:
  RetryPolicy(const RetryOptions& options, std::uint64_t seed,
              std::int64_t now_nanos);

  // Returns whether a fault may pass, after `attempts` with the same one.
  // UNAVAILABLE and DATA_LOSS may. UNIMPLEMENTED, which one of several servers
  // behind a name may answer, may until the sixth time.
  static bool MayPass(const absl::Status& error, int attempts = 1);

  // Returns when the next attempt may begin, after `attempts` (1 or more) of
  // the call `call` have failed; nullopt if never. The server asks to wait for
  // `asked_nanos` or more (0: it does not ask). Only the budget makes the
  // result later than `latest_nanos`.
  std::optional<std::int64_t> NextAttempt(
      std::uint64_t call, int attempts, std::int64_t asked_nanos,
      std::int64_t now_nanos, std::int64_t latest_nanos = INT64_MAX);

  // Takes a retry off the budget for a request that is made beside another.
  // Returns false if there may be none now.
  bool TryRepeat(std::int64_t now_nanos) {
    return budget_.TryTake(1, now_nanos);
  }
  // Returns whether the policy is as it was at its start: nothing of its budget
  // is used.
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
