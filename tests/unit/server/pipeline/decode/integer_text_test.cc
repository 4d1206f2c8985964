#include "server/pipeline/decode/integer_text.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/unit/server/pipeline/decode/golden_values.h"

namespace forebay::pipeline::decode {
namespace {

TEST(IntegerTextTest, ReadsAsPythonDoes) {
  for (const auto& row : GoldenValues("integers.txt")) {
    const std::string text = FromHex(row.at(0));
    const auto number = DecodeInteger(AsBytes(text));
    if (row.at(1) == "error") {
      EXPECT_EQ(number.status().code(), absl::StatusCode::kDataLoss) << text;
      continue;
    }
    ASSERT_TRUE(number.ok()) << text << ": " << number.status();
    EXPECT_EQ(std::to_string(*number), row.at(1)) << text;
  }
}

// Python's integers have no end.
TEST(IntegerTextTest, RefusesWhatDoesNotFit) {
  for (const std::string text : {"9223372036854775808", "-9223372036854775809",
                                 "100000000000000000000000000000000000"}) {
    EXPECT_EQ(DecodeInteger(AsBytes(text)).status().message(),
              "is an integer of more than 64 bits");
  }
}

}  // namespace
}  // namespace forebay::pipeline::decode
