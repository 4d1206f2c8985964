#include "server/storage/http/retry_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace forebay::storage::http {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(RetryPolicyTest, RetriesFaultsThatMayPass) {
  EXPECT_TRUE(RetryPolicy::MayPass(absl::UnavailableError("")));
  EXPECT_TRUE(RetryPolicy::MayPass(absl::DataLossError("")));
  EXPECT_FALSE(RetryPolicy::MayPass(absl::NotFoundError("")));
  EXPECT_FALSE(RetryPolicy::MayPass(absl::FailedPreconditionError("")));
  EXPECT_FALSE(RetryPolicy::MayPass(absl::CancelledError("")));
}

TEST(RetryPolicyTest, BelievesAServerThatDoesNotChangeItsMind) {
  const absl::Status error = absl::UnimplementedError("");
  EXPECT_TRUE(RetryPolicy::MayPass(error));
  EXPECT_TRUE(RetryPolicy::MayPass(error, 5));
  EXPECT_FALSE(RetryPolicy::MayPass(error, 6));
  EXPECT_TRUE(RetryPolicy::MayPass(absl::UnavailableError(""), 6));
}

TEST(RetryPolicyTest, EndsAfterItsAttempts) {
  RetryOptions options;
  options.attempts = 3;
  RetryPolicy policy(options, 1, 0);
  EXPECT_TRUE(policy.NextAttempt(1, 1, 0, 0).has_value());
  EXPECT_TRUE(policy.NextAttempt(1, 2, 0, 0).has_value());
  EXPECT_FALSE(policy.NextAttempt(1, 3, 0, 0).has_value());
}

// The n-th delay is uniform between 0 and the smaller of first * 2^(n-1) and
// the longest, and the same seed gives the same.
TEST(RetryPolicyTest, DelaysAreFullJitter) {
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
      ASSERT_TRUE(next.has_value());
      EXPECT_EQ(next, again.NextAttempt(call, attempts, 0, kSecond));
      delays.push_back(static_cast<double>(*next - kSecond) / longest);
      EXPECT_GE(delays.back(), 0);
      EXPECT_LT(delays.back(), 1);
    }
    std::sort(delays.begin(), delays.end());
    for (int i = 0; i < kCalls; ++i)  // Kolmogorov and Smirnov, far out
      EXPECT_NEAR(delays[i], (i + 0.5) / kCalls, 0.04);
  }
}

TEST(RetryPolicyTest, WaitsForAsLongAsTheServerAsks) {
  RetryOptions options;
  RetryPolicy policy(options, 1, 0);
  const auto next = policy.NextAttempt(1, 1, 7 * kSecond, 0);
  ASSERT_TRUE(next.has_value());
  EXPECT_GE(*next, 7 * kSecond);
  EXPECT_LE(*next, 7 * kSecond + options.first_delay_nanos);
  EXPECT_FALSE(
      policy.NextAttempt(1, 1, options.max_asked_nanos + 1, 0).has_value());
}

// However often calls fail, the policy decides no more retries in any time than
// the budget gives. No retry begins before it was decided.
TEST(RetryPolicyTest, OneBudgetBoundsAllCalls) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
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
      EXPECT_GE(*next, now);
      EXPECT_LE(*next - now, options.max_delay_nanos + kSecond);
      begun.push_back(*next);
    }
    EXPECT_FALSE(begun.empty());
    std::sort(begun.begin(), begun.end());
    for (std::size_t from = 0; from < begun.size(); from += 7)
      for (std::size_t to = from; to < begun.size(); to += 13) {
        const double seconds =
            static_cast<double>(begun[to] - begun[from]) / kSecond;
        ASSERT_LE(to - from + 1, options.retry_burst + 1.01 +
                                     seconds * options.retries_per_second);
      }
  }
}

TEST(RetryPolicyTest, OnlyTheBudgetDelaysBeyondTheLatestTime) {
  RetryOptions options;
  options.first_delay_nanos = options.max_delay_nanos = 100 * kSecond;
  options.retries_per_second = 0.1;
  options.retry_burst = 2;
  RetryPolicy policy(options, 1, 0);
  EXPECT_LE(*policy.NextAttempt(1, 5, 0, 0, 7), 7);
  EXPECT_LE(*policy.NextAttempt(2, 5, 0, 0, 7), 7);
  EXPECT_NEAR(*policy.NextAttempt(3, 5, 0, 0, 7), 10 * kSecond, 100);
}

TEST(RetryPolicyTest, RepeatedRequestsTakeOfTheSameBudget) {
  RetryOptions options;
  options.retries_per_second = 1;
  options.retry_burst = 2;
  RetryPolicy policy(options, 1, 0);
  EXPECT_TRUE(policy.IsUnused(0));
  EXPECT_TRUE(policy.TryRepeat(0));
  EXPECT_FALSE(policy.IsUnused(0));
  EXPECT_TRUE(policy.TryRepeat(0));
  EXPECT_FALSE(policy.TryRepeat(0));
  EXPECT_FALSE(policy.IsUnused(kSecond));
  EXPECT_TRUE(policy.IsUnused(2 * kSecond + 1));
}

}  // namespace
}  // namespace forebay::storage::http
