#include "server/dataset/listing/pattern_set.h"

#include <fnmatch.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::listing {
namespace {

using tests::ElementsAre;
using tests::HasCode;
using tests::IsEmpty;
using tests::IsOk;
using tests::UnorderedElementsAreArray;

using Numbers = std::vector<std::size_t>;

class PatternSetTest {
 protected:
  Numbers Fitting(const PatternSet& patterns, std::string_view name) {
    Numbers numbers;
    CHECK_THAT(patterns.ForEach(name,
                                [&](std::size_t number) {
                                  numbers.push_back(number);
                                  return absl::OkStatus();
                                }),
               IsOk());
    return numbers;
  }

  base::WorkingMemory memory_{base::AmpleBudget(), "patterns"};
};

TEST_CASE_METHOD(PatternSetTest,
                 "A pattern set finds what fits among many patterns",
                 "[listing][pattern_set]") {
  PatternSet patterns(memory_);
  CHECK(patterns.empty());
  for (std::size_t i = 0; i < 1000; ++i) {
    REQUIRE_THAT(patterns.Add("part-" + std::to_string(1000 + i) + "-*.tar", i),
                 IsOk());
  }
  CHECK_FALSE(patterns.empty());
  CHECK_THAT(Fitting(patterns, "part-1007-of-9.tar"), ElementsAre(7));
  CHECK_THAT(Fitting(patterns, "part-1007-.tar"), ElementsAre(7));
  CHECK_THAT(Fitting(patterns, "part-1007.tar"), IsEmpty());
  CHECK_THAT(Fitting(patterns, ""), IsEmpty());
}

TEST_CASE_METHOD(PatternSetTest, "An error ends the search of a pattern set",
                 "[listing][pattern_set]") {
  PatternSet patterns(memory_);
  REQUIRE_THAT(patterns.Add("*", 0), IsOk());
  REQUIRE_THAT(patterns.Add("a*", 1), IsOk());
  int calls = 0;
  CHECK(patterns.ForEach("a", [&](std::size_t) {
    ++calls;
    return absl::AbortedError("enough");
  }) == absl::AbortedError("enough"));
  CHECK(calls == 1);
}

TEST_CASE_METHOD(PatternSetTest,
                 "A pattern set finds the patterns that fnmatch fits",
                 "[listing][pattern_set]") {
  constexpr std::uint32_t kSeed = 20261129;
  CAPTURE(kSeed);
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
    REQUIRE_THAT(patterns.Add(drawn.back(), i), IsOk());
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
    CAPTURE(name);
    CHECK_THAT(Fitting(patterns, name), UnorderedElementsAreArray(expected));
  }
  CHECK(fits > 100);
}

TEST_CASE_METHOD(PatternSetTest, "A pattern set gives its memory back",
                 "[listing][pattern_set]") {
  base::MemoryBudget budget(std::uint64_t{1} << 20);
  base::WorkingMemory memory(&budget, "patterns");
  for (int round = 0; round < 20; ++round) {
    PatternSet patterns(memory);
    for (std::size_t i = 0; i < 1000; ++i) {
      CAPTURE(round);
      REQUIRE_THAT(patterns.Add(std::to_string(i) + "*", i), IsOk());
    }
  }
  PatternSet patterns(memory);
  absl::Status status;
  for (std::size_t i = 0; i < 100000 && status.ok(); ++i)
    status = patterns.Add("x*", i);
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace forebay::dataset::listing
