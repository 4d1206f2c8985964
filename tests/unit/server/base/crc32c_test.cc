#include "server/base/crc32c.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace forebay::base {
namespace {

absl::Span<const std::uint8_t> Of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Source: RFC 3720, appendix B.4, and the check value of the catalogue of CRCs.
TEST(Crc32cTest, GivesThePublishedValues) {
  EXPECT_EQ(Crc32c({}), 0);
  EXPECT_EQ(Crc32c(Of("123456789")), 0xe3069283);
  EXPECT_EQ(Crc32c(std::vector<std::uint8_t>(32, 0)), 0x8a9136aa);
  EXPECT_EQ(Crc32c(std::vector<std::uint8_t>(32, 0xff)), 0x62a8ab43);
}

TEST(Crc32cTest, GoesOnFromAPieceBefore) {
  const std::string_view text = "123456789";
  for (std::size_t i = 0; i <= text.size(); ++i) {
    EXPECT_EQ(Crc32c(Of(text.substr(i)), Crc32c(Of(text.substr(0, i)))),
              0xe3069283);
  }
}

}  // namespace
}  // namespace forebay::base
