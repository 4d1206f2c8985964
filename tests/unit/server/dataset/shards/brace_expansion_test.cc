#include "server/dataset/shards/brace_expansion.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"

namespace forebay::dataset::shards {
namespace {

using testing::HasSubstr;

TEST(BraceExpansionTest, ExpandsAsBraceexpandDoes) {
  int unbalanced = 0;
  for (std::vector<std::string> row : GoldenRows("braces.txt")) {
    const std::string pattern = row[0];
    const auto results = ExpandBraces(pattern);
    row.erase(row.begin());
    if (row == std::vector<std::string>{"unbalanced"}) {
      EXPECT_EQ(results.status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(std::string(results.status().message()),
                pattern + ": has unbalanced braces");
      ++unbalanced;
      continue;
    }
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ(*results, row) << pattern;
  }
  EXPECT_GT(unbalanced, 20);
}

TEST(BraceExpansionTest, BoundsWhatItMakes) {
  EXPECT_EQ(ExpandBraces("{1..1048576}")->size(), 1u << 20);
  for (const std::string& pattern :
       {std::string("{0..1048576}"), std::string("{1..1024}{0..1024}"),
        std::string("{{1..1048576},a}"),
        '{' + std::string(4000, '0') + "1..1048576}",
        "{1..1048576}" + std::string(4000, 'a'),
        "{a,b}" + std::string(20, '{') + std::string(20, '}'),
        std::string(5000, 'a')}) {
    const absl::Status status = ExpandBraces(pattern).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << pattern;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(pattern.substr(0, 50)));
  }
  // A number that no range has.
  EXPECT_EQ(*ExpandBraces("{1..99999999999999999999}"),
            std::vector<std::string>{"{1..99999999999999999999}"});
}

}  // namespace
}  // namespace forebay::dataset::shards
