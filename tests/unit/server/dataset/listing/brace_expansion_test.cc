#include "server/dataset/listing/brace_expansion.h"

#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"

namespace forebay::dataset::listing {
namespace {

using shards::GoldenRows;

using testing::HasSubstr;

absl::StatusOr<std::vector<std::string>> Expand(std::string_view pattern) {
  base::WorkingMemory memory(base::AmpleBudget(), "names");
  return ExpandBraces(pattern, memory);
}

TEST(BraceExpansionTest, ExpandsAsBraceexpandDoes) {
  int unbalanced = 0;
  for (std::vector<std::string> row : GoldenRows("braces.txt")) {
    const std::string pattern = row[0];
    const auto results = Expand(pattern);
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
  EXPECT_EQ(Expand("{1..1048576}")->size(), 1u << 20);
  for (const std::string& pattern :
       {std::string("{0..1048576}"), std::string("{1..1024}{0..1024}"),
        std::string("{{1..1048576},a}"),
        '{' + std::string(4000, '0') + "1..1048576}",
        "{1..1048576}" + std::string(4000, 'a'),
        "{a,b}" + std::string(20, '{') + std::string(20, '}'),
        std::string(5000, 'a')}) {
    const absl::Status status = Expand(pattern).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << pattern;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(pattern.substr(0, 50)));
  }
  // A number that no range has.
  EXPECT_EQ(*Expand("{1..99999999999999999999}"),
            std::vector<std::string>{"{1..99999999999999999999}"});
}

TEST(BraceExpansionTest, BoundsWhatSeveralPatternsMakeTogether) {
  base::WorkingMemory memory(base::AmpleBudget(), "names");
  const std::vector<std::string> fit = {"{a,b}.tar", "c.tar"};
  EXPECT_EQ(*ExpandBraces(fit, memory),
            (std::vector<std::string>{"a.tar", "b.tar", "c.tar"}));
  const std::vector<std::string> too_many = {"{1..1048576}", "a.tar"};
  const absl::Status status = ExpandBraces(too_many, memory).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            "what the patterns name: stands for more than 1048576 "
            "names");
}

// It would take a minute if each pair of braces copied all names.
TEST(BraceExpansionTest, TakesNoLongerThanItsResultsDo) {
  std::string pattern = "{1..1048576}";
  std::string letters;
  for (int i = 0; i < 240; ++i) {
    pattern += "{a..a}";
    letters += 'a';
  }
  const auto names = Expand(pattern);
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(names->size(), 1u << 20);
  EXPECT_EQ(names->back(), "1048576" + letters);
}

TEST(BraceExpansionTest, StopsWhereMemoryEnds) {
  base::MemoryBudget budget(std::uint64_t{4} << 20);
  base::WorkingMemory memory(&budget, "names");
  EXPECT_TRUE(ExpandBraces("{1..1000}.tar", memory).ok());
  for (const char* pattern :
       {"{1..1048576}", "{1..100}{1..1000}", "{{1..50000},a}"}) {
    EXPECT_EQ(ExpandBraces(pattern, memory).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
}

}  // namespace
}  // namespace forebay::dataset::listing
