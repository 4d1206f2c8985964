#include "server/pipeline/decode/utf8_text.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/unit/server/pipeline/decode/golden_values.h"

namespace forebay::pipeline::decode {
namespace {

TEST(Utf8TextTest, RefusesWhatPythonDoes) {
  for (const auto& row : GoldenValues("texts.txt")) {
    const std::string bytes = FromHex(row.at(0));
    const auto text = DecodeText(AsBytes(bytes));
    if (row.at(1) == "ok") {
      ASSERT_TRUE(text.ok()) << row.at(0) << ": " << text.status();
      EXPECT_EQ(*text, bytes);
      continue;
    }
    EXPECT_EQ(text.status().code(), absl::StatusCode::kDataLoss) << row.at(0);
    EXPECT_EQ(std::string(text.status().message()),
              "is not UTF-8, which a text must be, at byte " + row.at(1))
        << row.at(0);
  }
}

}  // namespace
}  // namespace forebay::pipeline::decode
