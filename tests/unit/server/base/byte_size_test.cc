#include "server/base/byte_size.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace forebay::base {
namespace {

TEST(ByteSizeTest, ReadsSizes) {
  EXPECT_EQ(*ParseByteSize("0B", 0), 0);
  EXPECT_EQ(*ParseByteSize("17B", 0), 17);
  EXPECT_EQ(*ParseByteSize("3KiB", 0), 3072);
  EXPECT_EQ(*ParseByteSize("512MiB", 0), std::uint64_t{512} << 20);
  EXPECT_EQ(*ParseByteSize("8GiB", 0), std::uint64_t{8} << 30);
  EXPECT_EQ(*ParseByteSize("2TiB", 0), std::uint64_t{2} << 40);
  EXPECT_EQ(*ParseByteSize("18446744073709551615B", 0), UINT64_MAX);
}

TEST(ByteSizeTest, ReadsPercentages) {
  EXPECT_EQ(*ParseByteSize("25%", 1000), 250);
  EXPECT_EQ(*ParseByteSize("33%", 101), 33);
  EXPECT_EQ(*ParseByteSize("0%", 1000), 0);
  EXPECT_EQ(*ParseByteSize("100%", UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(*ParseByteSize("50%", UINT64_MAX), UINT64_MAX / 2);
}

TEST(ByteSizeTest, RefusesAllElse) {
  for (const char* text :
       {"", "B", "8", "8GB", "8gib", "8 GiB", " 8GiB", "8GiB ", "-1B", "+1B",
        "1.5GiB", "0x10B", "101%", "-5%", "%", "18446744073709551616B",
        "16777216TiB", "99999999999999999999999%", "8GiB8GiB"}) {
    const auto size = ParseByteSize(text, 1000);
    EXPECT_EQ(size.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_NE(std::string(size.status().message())
                  .find("\"" + std::string(text) + "\""),
              std::string::npos);
  }
}

}  // namespace
}  // namespace forebay::base
