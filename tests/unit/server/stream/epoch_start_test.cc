#include "server/stream/epoch_start.h"

#include <memory>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

using tests::HasCode;
using tests::IsOk;

TEST_CASE("An epoch may start anywhere up to its end",
          "[stream][epoch_start]") {
  const StreamSpec spec = FakeStreamSpec(100, 10);
  const auto end = CheckStart(spec, {.epoch = 3, .first_sample = 100});
  REQUIRE_THAT(end, IsOk());
  CHECK(end->samples == 100);
  CHECK_FALSE(end->seen_samples.has_value());
  CHECK_THAT(CheckStart(spec, {.epoch = 3, .first_sample = 101}),
             HasCode(absl::StatusCode::kOutOfRange));
}

}  // namespace
}  // namespace forebay::stream
