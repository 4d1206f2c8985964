#include "server/schedule/stall_threshold.h"

#include <cstdint>

#include "tests/catch/catch.h"

namespace forebay::schedule {
namespace {

constexpr std::int64_t kMilli = 1'000'000;

// Gives the threshold `count` requests that took `nanos` nanoseconds each.
void Observe(StallThreshold& threshold, int count, std::int64_t nanos) {
  for (int i = 0; i < count; ++i) threshold.Observe(nanos);
}

TEST_CASE("The stall threshold is a second while little is known",
          "[schedule][stall_threshold]") {
  StallThreshold threshold;
  CHECK(threshold.nanos() == StallThreshold::kUnknownNanos);
  Observe(threshold, 15, kMilli);
  CHECK(threshold.nanos() == StallThreshold::kUnknownNanos);
  Observe(threshold, 1, kMilli);
  CHECK(threshold.nanos() == StallThreshold::kMinNanos);
}

TEST_CASE("The stall threshold is ten times what requests usually take at most",
          "[schedule][stall_threshold]") {
  StallThreshold threshold;
  Observe(threshold, 100, 30 * kMilli);
  CHECK(threshold.nanos() >= 300 * kMilli);
  CHECK(threshold.nanos() <= 340 * kMilli);
}

TEST_CASE(
    "The stall threshold is not raised by stalls beyond a hundred medians",
    "[schedule][stall_threshold]") {
  StallThreshold threshold;
  for (int i = 0; i < 50; ++i) {
    Observe(threshold, 19, 5 * kMilli);
    threshold.Observe(60'000 * kMilli);
  }
  CHECK(threshold.nanos() <= 570 * kMilli);
}

TEST_CASE("The stall threshold follows a source that has become slow",
          "[schedule][stall_threshold]") {
  StallThreshold threshold;
  Observe(threshold, 1000, kMilli);
  Observe(threshold, 3000, 800 * kMilli);
  CHECK(threshold.nanos() >= 8'000 * kMilli);
}

// A fault that lasts for 600 s must not hide the next one for hours.
TEST_CASE("The stall threshold grows by steps", "[schedule][stall_threshold]") {
  StallThreshold threshold;
  Observe(threshold, 16, 600'000 * kMilli);
  CHECK(threshold.nanos() <= 4'000 * kMilli);
  Observe(threshold, 16, 600'000 * kMilli);
  CHECK(threshold.nanos() <= 16'000 * kMilli);
}

}  // namespace
}  // namespace forebay::schedule
