#include "server/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <string>

namespace forebay::base {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string LogLines() {
  ::testing::internal::CaptureStderr();
  spdlog::debug("quiet");
  spdlog::info("calm {}", 1);
  spdlog::warn("loud");
  spdlog::error("wrong");
  return ::testing::internal::GetCapturedStderr();
}

TEST(LogTest, WritesFromItsLevelUp) {
  unsetenv("JOURNAL_STREAM");
  ASSERT_TRUE(StartLog("warning").ok());
  const std::string lines = LogLines();
  EXPECT_THAT(lines, Not(HasSubstr("calm")));
  EXPECT_THAT(lines, HasSubstr("warning loud\n"));
  EXPECT_THAT(lines, EndsWith("error wrong\n"));
  EXPECT_THAT(lines, StartsWith("20"));
}

TEST(LogTest, TellsTheJournalPriorities) {
  setenv("JOURNAL_STREAM", "8:1", 1);
  ASSERT_TRUE(StartLog("debug").ok());
  EXPECT_EQ(LogLines(), "<7>quiet\n<6>calm 1\n<4>loud\n<3>wrong\n");
  unsetenv("JOURNAL_STREAM");
}

TEST(LogTest, RefusesOtherLevels) {
  const absl::Status status = StartLog("loud");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"loud\""));
}

}  // namespace
}  // namespace forebay::base
