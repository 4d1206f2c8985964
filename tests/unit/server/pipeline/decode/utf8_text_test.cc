#include "server/pipeline/decode/utf8_text.h"

#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/decode/golden_values.h"

namespace forebay::pipeline::decode {
namespace {

using tests::HasCode;
using tests::IsOk;

TEST_CASE("The decoder of UTF-8 texts refuses what Python refuses",
          "[decode][utf8_text]") {
  for (const auto& row : GoldenValues("texts.txt")) {
    const std::string bytes = FromHex(row.at(0));
    const auto text = DecodeText(AsBytes(bytes));
    if (row.at(1) == "ok") {
      UNSCOPED_INFO(row.at(0) << ": " << text.status());
      REQUIRE_THAT(text, IsOk());
      CHECK(*text == bytes);
      continue;
    }
    UNSCOPED_INFO(row.at(0));
    CHECK_THAT(text, HasCode(absl::StatusCode::kDataLoss));
    UNSCOPED_INFO(row.at(0));
    CHECK(std::string(text.status().message()) ==
          "is not UTF-8, which a text must be, at byte " + row.at(1));
  }
}

}  // namespace
}  // namespace forebay::pipeline::decode
