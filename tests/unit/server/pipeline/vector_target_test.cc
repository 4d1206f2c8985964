#include "server/pipeline/vector_target.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"

namespace forebay::pipeline {
namespace {

class VectorTargetTest : public testing::Test {
 protected:
  ~VectorTargetTest() override { LimitVectorTarget("auto").IgnoreError(); }
};

TEST_F(VectorTargetTest, EveryLimitThatTheCpuReachesIsUsed) {
  const std::vector<std::int64_t> supported =
      hwy::SupportedAndGeneratedTargets();
  ASSERT_GE(supported.size(), 2u) << "no vector instructions to test with";
  for (const std::int64_t target : supported) {
    std::string name = absl::AsciiStrToLower(hwy::TargetName(target));
    if ((target & (HWY_SCALAR | HWY_EMU128)) != 0) name = "none";
    ASSERT_TRUE(LimitVectorTarget(name).ok()) << name;
    EXPECT_EQ(VectorTarget(), hwy::TargetName(target));
  }
}

TEST_F(VectorTargetTest, ALimitAboveTheCpuIsNone) {
  const std::string widest(VectorTarget());
  // The CPU has all targets from its widest on.
  for (const std::string& name : VectorTargetNames()) {
    ASSERT_TRUE(LimitVectorTarget(name).ok()) << name;
    EXPECT_EQ(VectorTarget(), widest) << name;
    if (absl::AsciiStrToUpper(name) == widest) break;
  }
}

TEST_F(VectorTargetTest, AutoLiftsTheLimit) {
  const std::string widest(VectorTarget());
  ASSERT_TRUE(LimitVectorTarget("none").ok());
  EXPECT_NE(VectorTarget(), widest);
  ASSERT_TRUE(LimitVectorTarget("auto").ok());
  EXPECT_EQ(VectorTarget(), widest);
}

TEST_F(VectorTargetTest, AnUnknownNameChangesNothing) {
  ASSERT_TRUE(LimitVectorTarget("none").ok());
  const std::string before(VectorTarget());
  const absl::Status status = LimitVectorTarget("AVX");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "no vector instructions are called \"AVX\"");
  EXPECT_EQ(VectorTarget(), before);
}

}  // namespace
}  // namespace forebay::pipeline
