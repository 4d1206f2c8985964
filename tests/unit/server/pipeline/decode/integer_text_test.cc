#include "server/pipeline/decode/integer_text.h"

#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/decode/golden_values.h"

namespace forebay::pipeline::decode {
namespace {

using tests::HasCode;
using tests::IsOk;

TEST_CASE("The decoder of integer texts reads them as Python does",
          "[decode][integer_text]") {
  for (const auto& row : GoldenValues("integers.txt")) {
    const std::string text = FromHex(row.at(0));
    const auto number = DecodeInteger(AsBytes(text));
    if (row.at(1) == "error") {
      CAPTURE(text);
      CHECK_THAT(number, HasCode(absl::StatusCode::kDataLoss));
      continue;
    }
    UNSCOPED_INFO(text << ": " << number.status());
    REQUIRE_THAT(number, IsOk());
    CAPTURE(text);
    CHECK(std::to_string(*number) == row.at(1));
  }
}

// Python's integers have no bounds.
TEST_CASE("The decoder of integer texts refuses what does not fit in 64 bits",
          "[decode][integer_text]") {
  for (const std::string text : {"9223372036854775808", "-9223372036854775809",
                                 "100000000000000000000000000000000000"}) {
    CHECK(DecodeInteger(AsBytes(text)).status().message() ==
          "is an integer of more than 64 bits");
  }
}

}  // namespace
}  // namespace forebay::pipeline::decode
