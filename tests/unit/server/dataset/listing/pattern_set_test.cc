#include "server/dataset/listing/pattern_set.h"

#include <fnmatch.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::listing {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;
using Numbers = std::vector<std::size_t>;

class PatternSetTest : public testing::Test {
 protected:
  Numbers Fitting(const PatternSet& patterns, std::string_view name) {
    Numbers numbers;
    EXPECT_TRUE(patterns
                    .ForEach(name,
                             [&](std::size_t number) {
                               numbers.push_back(number);
                               return absl::OkStatus();
                             })
                    .ok());
    return numbers;
  }

  base::WorkingMemory memory_{base::AmpleBudget(), "patterns"};
};

TEST_F(PatternSetTest, FindsWhatFitsAmongMany) {
  PatternSet patterns(memory_);
  EXPECT_TRUE(patterns.empty());
  for (std::size_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(
        patterns.Add("part-" + std::to_string(1000 + i) + "-*.tar", i).ok());
  }
  EXPECT_FALSE(patterns.empty());
  EXPECT_THAT(Fitting(patterns, "part-1007-of-9.tar"), ElementsAre(7));
  EXPECT_THAT(Fitting(patterns, "part-1007-.tar"), ElementsAre(7));
  EXPECT_THAT(Fitting(patterns, "part-1007.tar"), IsEmpty());
  EXPECT_THAT(Fitting(patterns, ""), IsEmpty());
}

TEST_F(PatternSetTest, AnErrorEndsTheSearch) {
  PatternSet patterns(memory_);
  ASSERT_TRUE(patterns.Add("*", 0).ok());
  ASSERT_TRUE(patterns.Add("a*", 1).ok());
  int calls = 0;
  EXPECT_EQ(patterns.ForEach("a",
                             [&](std::size_t) {
                               ++calls;
                               return absl::AbortedError("enough");
                             }),
            absl::AbortedError("enough"));
  EXPECT_EQ(calls, 1);
}

TEST_F(PatternSetTest, FindsThePatternsThatFnmatchFits) {
  constexpr std::uint32_t kSeed = 20261129;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  const auto draw = [&](std::string_view letters) {
    std::string text(random() % 6, '\0');
    for (char& c : text) c = letters[random() % letters.size()];
    return text;
  };
  std::vector<std::string> drawn;
  PatternSet patterns(memory_);
  for (std::size_t i = 0; i < 500; ++i) {
    drawn.push_back(draw("ab*?[]!-/.\\"));
    ASSERT_TRUE(patterns.Add(drawn.back(), i).ok());
  }
  int fits = 0;
  for (int round = 0; round < 500; ++round) {
    const std::string name = draw("ab[]!-/.\\*");
    Numbers expected;
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      if (fnmatch(drawn[i].c_str(), name.c_str(),
                  FNM_PATHNAME | FNM_NOESCAPE | FNM_PERIOD) == 0)
        expected.push_back(i);
    }
    fits += static_cast<int>(expected.size());
    EXPECT_THAT(Fitting(patterns, name), UnorderedElementsAreArray(expected))
        << name;
  }
  EXPECT_GT(fits, 100);
}

TEST_F(PatternSetTest, GivesItsMemoryBack) {
  base::MemoryBudget budget(std::uint64_t{1} << 20);
  base::WorkingMemory memory(&budget, "patterns");
  for (int round = 0; round < 20; ++round) {
    PatternSet patterns(memory);
    for (std::size_t i = 0; i < 1000; ++i)
      ASSERT_TRUE(patterns.Add(std::to_string(i) + "*", i).ok()) << round;
  }
  PatternSet patterns(memory);
  absl::Status status;
  for (std::size_t i = 0; i < 100000 && status.ok(); ++i)
    status = patterns.Add("x*", i);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace forebay::dataset::listing
