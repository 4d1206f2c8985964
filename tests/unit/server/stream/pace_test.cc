#include "server/stream/pace.h"

#include <cstdint>

#include "tests/catch/catch.h"

namespace forebay::stream {
namespace {

TEST_CASE(
    "The urgency of a read is the time until the trainer needs the sample",
    "[stream][pace]") {
  Pace pace;
  CHECK(pace.Urgency(0) == 0);
  UNSCOPED_INFO("who begins is in a hurry");
  CHECK(pace.Urgency(1000) < 1'000'000);
  pace.Published(10, 0);
  pace.Published(10, 1000);
  CHECK(pace.Urgency(0) == 0);
  CHECK(pace.Urgency(20) == 2000);
}

// A job has two loaders. Reads for the slower trainer come second, even if its
// loader has fewer samples ahead.
TEST_CASE("Reads of a slow trainer can wait for those of a fast one",
          "[stream][pace]") {
  Pace fast;
  Pace slow;
  for (std::int64_t i = 0; i < 100; ++i) {
    fast.Published(10, i * 10'000);
    slow.Published(10, i * 1'000'000);
  }
  CHECK(fast.Urgency(20) < slow.Urgency(12));
  UNSCOPED_INFO("both have nothing left");
  CHECK(fast.Urgency(0) == slow.Urgency(0));
}

}  // namespace
}  // namespace forebay::stream
