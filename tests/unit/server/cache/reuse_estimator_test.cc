#include "server/cache/reuse_estimator.h"

#include "tests/catch/catch.h"

namespace forebay::cache {
namespace {

TEST_CASE("A variant that is never used is hardly made any more",
          "[cache][reuse_estimator]") {
  ReuseEstimator reuse;
  CHECK(reuse.IsWorthMaking(1, 100, 1));
  for (int i = 0; i < 100; ++i) reuse.RecordEviction(1, 0);
  int made = 0;
  for (int i = 0; i < 320; ++i) made += reuse.IsWorthMaking(1, 100, 1'000);
  CHECK(made == 10);
  CHECK(reuse.IsWorthMaking(2, 100, 1'000));
}

TEST_CASE("A variant pays if it is used often or costs nothing",
          "[cache][reuse_estimator]") {
  ReuseEstimator reuse;
  for (int i = 0; i < 100; ++i) reuse.RecordEviction(1, i % 2 == 0 ? 3 : 2);
  CHECK(reuse.IsWorthMaking(1, 249, 100));
  CHECK_FALSE(reuse.IsWorthMaking(1, 251, 100));
  CHECK(reuse.IsWorthMaking(1, 0, 1));
  // The estimator learns that variants are now evicted without having been
  // used.
  for (int i = 0; i < 2'000; ++i) reuse.RecordEviction(1, 0);
  CHECK_FALSE(reuse.IsWorthMaking(1, 100, 100));
}

}  // namespace
}  // namespace forebay::cache
