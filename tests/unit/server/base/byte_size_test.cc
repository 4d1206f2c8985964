#include "server/base/byte_size.h"

#include <cstdint>
#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::base {
namespace {

using tests::Contains;
using tests::HasCode;

TEST_CASE("The byte size parser reads sizes", "[base][byte_size]") {
  CHECK(*ParseByteSize("0B", 0) == 0);
  CHECK(*ParseByteSize("17B", 0) == 17);
  CHECK(*ParseByteSize("3KiB", 0) == 3072);
  CHECK(*ParseByteSize("512MiB", 0) == std::uint64_t{512} << 20);
  CHECK(*ParseByteSize("8GiB", 0) == std::uint64_t{8} << 30);
  CHECK(*ParseByteSize("2TiB", 0) == std::uint64_t{2} << 40);
  CHECK(*ParseByteSize("18446744073709551615B", 0) == UINT64_MAX);
}

TEST_CASE("The byte size parser reads percentages", "[base][byte_size]") {
  CHECK(*ParseByteSize("25%", 1000) == 250);
  CHECK(*ParseByteSize("33%", 101) == 33);
  CHECK(*ParseByteSize("0%", 1000) == 0);
  CHECK(*ParseByteSize("100%", UINT64_MAX) == UINT64_MAX);
  CHECK(*ParseByteSize("50%", UINT64_MAX) == UINT64_MAX / 2);
}

TEST_CASE("The byte size parser refuses all else than sizes and percentages",
          "[base][byte_size]") {
  for (const char* text :
       {"", "B", "8", "8GB", "8gib", "8 GiB", " 8GiB", "8GiB ", "-1B", "+1B",
        "1.5GiB", "0x10B", "101%", "-5%", "%", "18446744073709551616B",
        "16777216TiB", "99999999999999999999999%", "8GiB8GiB"}) {
    const auto size = ParseByteSize(text, 1000);
    CAPTURE(text);
    CHECK_THAT(size, HasCode(absl::StatusCode::kInvalidArgument));
    CHECK_THAT(std::string(size.status().message()),
               Contains("\"" + std::string(text) + "\""));
  }
}

}  // namespace
}  // namespace forebay::base
