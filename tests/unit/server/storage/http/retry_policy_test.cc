#include "server/storage/http/retry_policy.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::storage::http {
namespace {

using Catch::WithinAbs;

constexpr std::int64_t kSecond = 1'000'000'000;

TEST_CASE("The retry policy retries faults that may pass",
          "[http][retry_policy]") {
  CHECK(RetryPolicy::MayPass(absl::UnavailableError("")));
  CHECK(RetryPolicy::MayPass(absl::DataLossError("")));
  CHECK_FALSE(RetryPolicy::MayPass(absl::NotFoundError("")));
  CHECK_FALSE(RetryPolicy::MayPass(absl::FailedPreconditionError("")));
  CHECK_FALSE(RetryPolicy::MayPass(absl::CancelledError("")));
}

TEST_CASE("The retry policy believes a server that does not change its mind",
          "[http][retry_policy]") {
  const absl::Status error = absl::UnimplementedError("");
  CHECK(RetryPolicy::MayPass(error));
  CHECK(RetryPolicy::MayPass(error, 5));
  CHECK_FALSE(RetryPolicy::MayPass(error, 6));
  CHECK(RetryPolicy::MayPass(absl::UnavailableError(""), 6));
}

TEST_CASE("The retry policy ends after its attempts", "[http][retry_policy]") {
  RetryOptions options;
  options.attempts = 3;
  RetryPolicy policy(options, 1, 0);
  CHECK(policy.NextAttempt(1, 1, 0, 0).has_value());
  CHECK(policy.NextAttempt(1, 2, 0, 0).has_value());
  CHECK_FALSE(policy.NextAttempt(1, 3, 0, 0).has_value());
}

// Delay number n is uniform between 0 and the smaller of first * 2^(n-1) and
// the longest delay. The same seed gives the same delays.
TEST_CASE("The delays of the retry policy are full jitter",
          "[http][retry_policy]") {
  RetryOptions options;
  options.retry_burst = 1e9;
  RetryPolicy policy(options, 42, 0);
  RetryPolicy again(options, 42, 0);
  for (int attempts = 1; attempts < options.attempts; ++attempts) {
    const double longest = static_cast<double>(std::min(
        options.first_delay_nanos << (attempts - 1), options.max_delay_nanos));
    constexpr int kCalls = 4000;
    std::vector<double> delays;
    for (int call = 0; call < kCalls; ++call) {
      const auto next = policy.NextAttempt(call, attempts, 0, kSecond);
      REQUIRE(next.has_value());
      CHECK(next == again.NextAttempt(call, attempts, 0, kSecond));
      delays.push_back(static_cast<double>(*next - kSecond) / longest);
      CHECK(delays.back() >= 0);
      CHECK(delays.back() < 1);
    }
    std::sort(delays.begin(), delays.end());
    for (int i = 0; i < kCalls; ++i)  // a loose Kolmogorov-Smirnov bound
      CHECK_THAT(delays[i], WithinAbs((i + 0.5) / kCalls, 0.04));
  }
}

TEST_CASE("The retry policy waits for as long as the server asks",
          "[http][retry_policy]") {
  RetryOptions options;
  RetryPolicy policy(options, 1, 0);
  const auto next = policy.NextAttempt(1, 1, 7 * kSecond, 0);
  REQUIRE(next.has_value());
  CHECK(*next >= 7 * kSecond);
  CHECK(*next <= 7 * kSecond + options.first_delay_nanos);
  CHECK_FALSE(
      policy.NextAttempt(1, 1, options.max_asked_nanos + 1, 0).has_value());
}

// Over any time, the policy allows no more retries than the budget has, however
// often calls fail. A retry begins only after it was allowed.
TEST_CASE("The retry policy bounds all calls by one budget",
          "[http][retry_policy]") {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    RetryOptions options;
    options.retries_per_second = 1 + random() % 50;
    options.retry_burst = 1 + random() % 20;
    options.first_delay_nanos = 0;
    RetryPolicy policy(options, seed, 0);
    std::vector<std::int64_t> begun;
    std::int64_t now = 0;
    for (int i = 0; i < 3000; ++i) {
      now += random() % (kSecond / 20);
      const auto next = policy.NextAttempt(i, 1 + random() % 5, 0, now);
      if (!next.has_value()) continue;
      CHECK(*next >= now);
      CHECK(*next - now <= options.max_delay_nanos + kSecond);
      begun.push_back(*next);
    }
    CHECK_FALSE(begun.empty());
    std::sort(begun.begin(), begun.end());
    for (std::size_t from = 0; from < begun.size(); from += 7)
      for (std::size_t to = from; to < begun.size(); to += 13) {
        const double seconds =
            static_cast<double>(begun[to] - begun[from]) / kSecond;
        REQUIRE(to - from + 1 <= options.retry_burst + 1.01 +
                                     seconds * options.retries_per_second);
      }
  }
}

TEST_CASE("Only the retry budget delays a retry beyond its latest time",
          "[http][retry_policy]") {
  RetryOptions options;
  options.first_delay_nanos = options.max_delay_nanos = 100 * kSecond;
  options.retries_per_second = 0.1;
  options.retry_burst = 2;
  RetryPolicy policy(options, 1, 0);
  CHECK(*policy.NextAttempt(1, 5, 0, 0, 7) <= 7);
  CHECK(*policy.NextAttempt(2, 5, 0, 0, 7) <= 7);
  CHECK_THAT(*policy.NextAttempt(3, 5, 0, 0, 7), WithinAbs(10 * kSecond, 100));
}

TEST_CASE("Repeated requests take of the same budget as retries",
          "[http][retry_policy]") {
  RetryOptions options;
  options.retries_per_second = 1;
  options.retry_burst = 2;
  RetryPolicy policy(options, 1, 0);
  CHECK(policy.IsUnused(0));
  CHECK(policy.TryRepeat(0));
  CHECK_FALSE(policy.IsUnused(0));
  CHECK(policy.TryRepeat(0));
  CHECK_FALSE(policy.TryRepeat(0));
  CHECK_FALSE(policy.IsUnused(kSecond));
  CHECK(policy.IsUnused(2 * kSecond + 1));
}

}  // namespace
}  // namespace forebay::storage::http
