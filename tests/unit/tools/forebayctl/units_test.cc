#include "tools/forebayctl/units.h"

#include <gtest/gtest.h>

namespace forebay::ctl {
namespace {

TEST(UnitsTest, Bytes) {
  EXPECT_EQ(Bytes(0), "0 B");
  EXPECT_EQ(Bytes(1023), "1023 B");
  EXPECT_EQ(Bytes(1024), "1.00 KiB");
  EXPECT_EQ(Bytes(10.5 * 1024), "10.5 KiB");
  EXPECT_EQ(Bytes(1023.7 * 1024), "1.00 MiB");
  EXPECT_EQ(Bytes(137.0 * (1 << 20)), "137 MiB");
  EXPECT_EQ(Bytes(1.8e19), "15.6 EiB");
}

TEST(UnitsTest, Megabytes) {
  EXPECT_EQ(Megabytes(0), "0");
  EXPECT_EQ(Megabytes(250'000), "0.25");
  EXPECT_EQ(Megabytes(12'340'000), "12.3");
  EXPECT_EQ(Megabytes(1'234'000'000), "1234");
}

TEST(UnitsTest, Rate) {
  EXPECT_EQ(Rate(1000), "1.00 KB/s");
  EXPECT_EQ(Rate(250'000), "250 KB/s");
  EXPECT_EQ(Rate(1'000'000), "1.00 MB/s");
  EXPECT_EQ(Rate(1'234'000'000), "1234 MB/s");
}

TEST(UnitsTest, Count) {
  EXPECT_EQ(Count(0), "0");
  EXPECT_EQ(Count(9.5), "9.5");
  EXPECT_EQ(Count(99), "99");
  EXPECT_EQ(Count(999.6), "1,000");
  EXPECT_EQ(Count(1234567), "1,234,567");
}

TEST(UnitsTest, Duration) {
  EXPECT_EQ(Duration(8.23), "8.2 s");
  EXPECT_EQ(Duration(303), "5 min 03 s");
  EXPECT_EQ(Duration(7500), "2 h 05 min");
  EXPECT_EQ(Duration(273600), "3 d 04 h");
}

TEST(UnitsTest, Percent) {
  EXPECT_EQ(Percent(0), "0%");
  EXPECT_EQ(Percent(0.124), "12%");
  EXPECT_EQ(Percent(1), "100%");
}

}  // namespace
}  // namespace forebay::ctl
