#include "server/cache/read_cost.h"

#include "tests/catch/catch.h"

namespace forebay::cache {
namespace {

using Catch::WithinAbs;

TEST_CASE("The read cost of a byte is the time that the source was busy",
          "[cache][read_cost]") {
  ReadCost cost;
  CHECK_THAT(cost.NanosPerByte(), WithinAbs(1, 1e-9));
  std::int64_t now = 0;
  constexpr std::uint64_t kBytes = 10'000'000;
  for (int i = 0; i < 1'000; ++i) {
    // Two reads run at the same time, and then there is a pause.
    cost.Begin(now);
    cost.Begin(now);
    now += 2 * kBytes / 10;
    cost.End(now, kBytes);
    cost.End(now, kBytes);
    now += 1'000'000'000;
  }
  CHECK_THAT(cost.NanosPerByte(), WithinAbs(0.1, 0.003));
  // The pauses did not count. The source now becomes slower, which shows only
  // after many reads.
  for (int i = 0; i < 10; ++i) {
    cost.Begin(now);
    now += 10 * kBytes;
    cost.End(now, kBytes);
  }
  CHECK(cost.NanosPerByte() < 0.15);
  for (int i = 0; i < 1'000; ++i) {
    cost.Begin(now);
    now += 10 * kBytes;
    cost.End(now, kBytes);
  }
  CHECK(cost.NanosPerByte() > 9);
}

}  // namespace
}  // namespace forebay::cache
