#include "client/base/backoff.h"

#include <cstdint>
#include <set>

#include "tests/catch/catch.h"

namespace forebay::client {
namespace {

TEST_CASE("A backoff's pauses grow to the longest and begin anew after a reset",
          "[base][backoff]") {
  Backoff backoff(/*seed=*/1);
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t step = Backoff::kFirstNanos, i = 0; i < 20; ++i) {
      const std::int64_t pause = backoff.Next();
      CHECK(pause >= step / 2);
      CHECK(pause <= step);
      step = std::min(2 * step, Backoff::kLastNanos);
    }
    backoff.Reset();
  }
}

TEST_CASE("A backoff lets clients come back at different times",
          "[base][backoff]") {
  std::set<std::int64_t> firsts;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    firsts.insert(Backoff(seed).Next());
  CHECK(firsts.size() > 90);
  CHECK(Backoff(7).Next() == Backoff(7).Next());
}

}  // namespace
}  // namespace forebay::client
