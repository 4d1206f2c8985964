#include "server/pipeline/vector_target.h"

#include <hwy/targets.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::pipeline {
namespace {

using tests::HasCode;
using tests::IsOk;

class VectorTargetTest {
 protected:
  ~VectorTargetTest() { LimitVectorTarget("auto").IgnoreError(); }
};

TEST_CASE_METHOD(
    VectorTargetTest,
    "Every limit of vector instructions that the CPU reaches is used",
    "[pipeline][vector_target]") {
  const std::vector<std::int64_t> supported =
      hwy::SupportedAndGeneratedTargets();
  UNSCOPED_INFO("no vector instructions to test with");
  REQUIRE(supported.size() >= 2u);
  for (const std::int64_t target : supported) {
    std::string name = absl::AsciiStrToLower(hwy::TargetName(target));
    if ((target & (HWY_SCALAR | HWY_EMU128)) != 0) name = "none";
    CAPTURE(name);
    REQUIRE_THAT(LimitVectorTarget(name), IsOk());
    CHECK(VectorTarget() == hwy::TargetName(target));
  }
}

TEST_CASE_METHOD(
    VectorTargetTest,
    "A limit of vector instructions above the CPU's own has no effect",
    "[pipeline][vector_target]") {
  const std::string widest(VectorTarget());
  // The CPU has all targets from its widest one on, so the loop ends there.
  for (const std::string& name : VectorTargetNames()) {
    CAPTURE(name);
    REQUIRE_THAT(LimitVectorTarget(name), IsOk());
    CHECK(VectorTarget() == widest);
    if (absl::AsciiStrToUpper(name) == widest) break;
  }
}

TEST_CASE_METHOD(VectorTargetTest,
                 "The name auto lifts the limit of vector instructions",
                 "[pipeline][vector_target]") {
  const std::string widest(VectorTarget());
  REQUIRE_THAT(LimitVectorTarget("none"), IsOk());
  CHECK(VectorTarget() != widest);
  REQUIRE_THAT(LimitVectorTarget("auto"), IsOk());
  CHECK(VectorTarget() == widest);
}

TEST_CASE_METHOD(VectorTargetTest,
                 "An unknown name of vector instructions changes nothing",
                 "[pipeline][vector_target]") {
  REQUIRE_THAT(LimitVectorTarget("none"), IsOk());
  const std::string before(VectorTarget());
  const absl::Status status = LimitVectorTarget("AVX");
  CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
  CHECK(status.message() == "no vector instructions are called \"AVX\"");
  CHECK(VectorTarget() == before);
}

}  // namespace
}  // namespace forebay::pipeline
