#include "server/base/crc32c.h"

#include <string_view>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::base {
namespace {

absl::Span<const std::uint8_t> Of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// The published values are those of RFC 3720, appendix B.4, and the check value
// of the catalogue of CRCs.
TEST_CASE("CRC-32C gives the published values", "[base][crc32c]") {
  CHECK(Crc32c({}) == 0);
  CHECK(Crc32c(Of("123456789")) == 0xe3069283);
  CHECK(Crc32c(std::vector<std::uint8_t>(32, 0)) == 0x8a9136aa);
  CHECK(Crc32c(std::vector<std::uint8_t>(32, 0xff)) == 0x62a8ab43);
}

TEST_CASE("CRC-32C goes on from a piece before", "[base][crc32c]") {
  const std::string_view text = "123456789";
  for (std::size_t i = 0; i <= text.size(); ++i) {
    CHECK(Crc32c(Of(text.substr(i)), Crc32c(Of(text.substr(0, i)))) ==
          0xe3069283);
  }
}

}  // namespace
}  // namespace forebay::base
