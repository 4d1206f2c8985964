#include "server/base/cpu_share.h"

#include <gtest/gtest.h>

#include <string>

namespace forebay::base {
namespace {

TEST(CpuShareTest, ReadsCpusAndPercentages) {
  EXPECT_DOUBLE_EQ(*ParseCpuShare("6", 8), 6);
  EXPECT_DOUBLE_EQ(*ParseCpuShare("1.5", 8), 1.5);
  EXPECT_DOUBLE_EQ(*ParseCpuShare("0.25", 8), 0.25);
  EXPECT_DOUBLE_EQ(*ParseCpuShare("75%", 8), 6);
  EXPECT_DOUBLE_EQ(*ParseCpuShare("12.5%", 8), 1);
  EXPECT_DOUBLE_EQ(*ParseCpuShare("100%", 8), 8);
  EXPECT_DOUBLE_EQ(*ParseCpuShare("1024", 8), 1024);
}

TEST(CpuShareTest, RefusesAllElse) {
  for (const std::string text : {"",     "%",
                                 "all",  "-1",
                                 "+1",   " 1",
                                 "1 ",   "1 %",
                                 "1%%",  "1e3",
                                 "0x4",  "inf",
                                 "nan",  "infinity",
                                 "0",    "0%",
                                 "0.0",  "101%",
                                 "1025", ".5",
                                 "1,5",  "99999999999999999999999999"}) {
    const auto share = ParseCpuShare(text, 8);
    ASSERT_FALSE(share.ok()) << text;
    EXPECT_NE(std::string(share.status().message()).find("\"" + text + "\""),
              std::string::npos);
  }
}

}  // namespace
}  // namespace forebay::base
