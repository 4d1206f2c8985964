#include "server/dataset/listing/brace_expansion.h"

#include <string>
#include <string_view>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"

namespace forebay::dataset::listing {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

using shards::GoldenRows;

absl::StatusOr<std::vector<std::string>> Expand(std::string_view pattern) {
  base::WorkingMemory memory(base::AmpleBudget(), "names");
  return ExpandBraces(pattern, memory);
}

TEST_CASE("Brace expansion expands as braceexpand does",
          "[listing][brace_expansion]") {
  int unbalanced = 0;
  for (std::vector<std::string> row : GoldenRows("braces.txt")) {
    const std::string pattern = row[0];
    const auto results = Expand(pattern);
    row.erase(row.begin());
    if (row == std::vector<std::string>{"unbalanced"}) {
      CHECK_THAT(results, HasCode(absl::StatusCode::kInvalidArgument));
      CHECK(std::string(results.status().message()) ==
            pattern + ": has unbalanced braces");
      ++unbalanced;
      continue;
    }
    REQUIRE_THAT(results, IsOk());
    CAPTURE(pattern);
    CHECK(*results == row);
  }
  CHECK(unbalanced > 20);
}

TEST_CASE("Brace expansion bounds what it makes",
          "[listing][brace_expansion]") {
  CHECK(Expand("{1..1048576}")->size() == 1u << 20);
  for (const std::string& pattern :
       {std::string("{0..1048576}"), std::string("{1..1024}{0..1024}"),
        std::string("{{1..1048576},a}"),
        '{' + std::string(4000, '0') + "1..1048576}",
        "{1..1048576}" + std::string(4000, 'a'),
        "{a,b}" + std::string(20, '{') + std::string(20, '}'),
        std::string(5000, 'a')}) {
    const absl::Status status = Expand(pattern).status();
    CAPTURE(pattern);
    CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
    CHECK_THAT(status.message(), Contains(pattern.substr(0, 50)));
  }
  // The number is too large for a range.
  CHECK(*Expand("{1..99999999999999999999}") ==
        std::vector<std::string>{"{1..99999999999999999999}"});
}

TEST_CASE("Brace expansion bounds what several patterns make together",
          "[listing][brace_expansion]") {
  base::WorkingMemory memory(base::AmpleBudget(), "names");
  const std::vector<std::string> fit = {"{a,b}.tar", "c.tar"};
  CHECK(*ExpandBraces(fit, memory) ==
        std::vector<std::string>{"a.tar", "b.tar", "c.tar"});
  const std::vector<std::string> too_many = {"{1..1048576}", "a.tar"};
  const absl::Status status = ExpandBraces(too_many, memory).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
  CHECK(std::string(status.message()) ==
        "what the patterns name: stands for more than 1048576 "
        "names");
}

// If each pair of braces copied all names, this pattern would take a minute.
TEST_CASE("Brace expansion takes no longer than its results do",
          "[listing][brace_expansion]") {
  std::string pattern = "{1..1048576}";
  std::string letters;
  for (int i = 0; i < 240; ++i) {
    pattern += "{a..a}";
    letters += 'a';
  }
  const auto names = Expand(pattern);
  REQUIRE_THAT(names, IsOk());
  CHECK(names->size() == 1u << 20);
  CHECK(names->back() == "1048576" + letters);
}

TEST_CASE("Brace expansion stops where memory ends",
          "[listing][brace_expansion]") {
  base::MemoryBudget budget(std::uint64_t{4} << 20);
  base::WorkingMemory memory(&budget, "names");
  CHECK_THAT(ExpandBraces("{1..1000}.tar", memory), IsOk());
  for (const char* pattern :
       {"{1..1048576}", "{1..100}{1..1000}", "{{1..50000},a}"}) {
    CHECK_THAT(ExpandBraces(pattern, memory),
               HasCode(absl::StatusCode::kResourceExhausted));
  }
}

}  // namespace
}  // namespace forebay::dataset::listing
