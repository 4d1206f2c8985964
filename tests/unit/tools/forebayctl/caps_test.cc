#include "tools/forebayctl/caps.h"

#include <gtest/gtest.h>

#include <string>

namespace forebay::ctl {
namespace {

TEST(CapsTest, ReadsRates) {
  EXPECT_DOUBLE_EQ(*ParseReadCap("200MB/s"), 200e6);
  EXPECT_DOUBLE_EQ(*ParseReadCap("1.5GiB/s"), 1.5 * (1 << 30));
  EXPECT_DOUBLE_EQ(*ParseReadCap("1KB/s"), 1000);
  EXPECT_DOUBLE_EQ(*ParseReadCap("4096B/s"), 4096);
  EXPECT_DOUBLE_EQ(*ParseReadCap("none"), 0);
}

TEST(CapsTest, RefusesOtherRates) {
  for (const std::string text :
       {"", "200", "200MB", "MB/s", "-1MB/s", "+1MB/s", "200 MB/s", "200mb/s",
        "1e3MB/s", "infMB/s", "nan", "None", "200MB/s "}) {
    const auto cap = ParseReadCap(text);
    ASSERT_FALSE(cap.ok()) << text;
    EXPECT_EQ(std::string(cap.status().message())
                  .find("\"" + text + "\" is no rate: write a number and B/s"),
              0);
  }
  EXPECT_EQ(ParseReadCap("999B/s").status().message(),
            "\"999B/s\" is less than 1KB/s");
  EXPECT_FALSE(ParseReadCap("0MB/s").ok());
}

TEST(CapsTest, ReadsCpus) {
  EXPECT_DOUBLE_EQ(*ParseCpuCap("2"), 2);
  EXPECT_DOUBLE_EQ(*ParseCpuCap("0.5"), 0.5);
  EXPECT_DOUBLE_EQ(*ParseCpuCap("none"), 0);
  for (const std::string text :
       {"", "two", "50%", "-1", "1e1", "2 ", "inf", "0", "0.001", "1025"}) {
    EXPECT_FALSE(ParseCpuCap(text).ok()) << text;
  }
}

TEST(CapsTest, SaysThemInWords) {
  EXPECT_EQ(DescribeReadCap(200e6), "at most 200 MB/s");
  EXPECT_EQ(DescribeReadCap(1000), "at most 1.00 KB/s");
  EXPECT_EQ(DescribeReadCap(0), "as much as it can");
  EXPECT_EQ(DescribeCpuCap(1), "at most 1 CPU");
  EXPECT_EQ(DescribeCpuCap(0.5), "at most 0.5 CPUs");
  EXPECT_EQ(DescribeCpuCap(0), "as many CPUs as it can");
}

}  // namespace
}  // namespace forebay::ctl
