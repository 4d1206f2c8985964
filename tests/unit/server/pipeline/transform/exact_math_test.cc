#include "server/pipeline/transform/exact_math.h"

#include <cmath>

#include "tests/catch/catch.h"

namespace forebay::pipeline::transform {
namespace {

using Catch::WithinAbs;

TEST_CASE("Exact exponentials and logarithms agree with the C library",
          "[transform][exact_math]") {
  for (double x = -20; x <= 20; x += 0.137) {
    CAPTURE(x);
    CHECK_THAT(ExactExp(x) / std::exp(x), WithinAbs(1, 1e-14));
    CHECK_THAT(ExactLog(std::exp(x)), WithinAbs(x, 1e-13));
  }
}

}  // namespace
}  // namespace forebay::pipeline::transform
