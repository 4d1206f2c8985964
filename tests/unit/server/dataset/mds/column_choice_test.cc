#include "server/dataset/mds/column_choice.h"

#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::dataset::mds {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

// Returns `count` different names.
std::vector<std::string> Names(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("x" + std::to_string(i));
  return names;
}

TEST_CASE("A choice of MDS columns has as many names as there may be fields",
          "[mds][column_choice]") {
  CHECK_THAT(ColumnChoice::Create(Names(15), {}), IsOk());
  const auto choice = ColumnChoice::Create(Names(16), {});
  CHECK_THAT(choice, HasCode(absl::StatusCode::kInvalidArgument));
  CHECK_THAT(choice.status().ToString(),
             Contains("at most 15 columns can be named, not 16"));
}

TEST_CASE("A choice of MDS columns is refused if a name comes twice",
          "[mds][column_choice]") {
  CHECK_THAT(ColumnChoice::Create({"a", "b", "a"}, {}).status().ToString(),
             Contains("the column a comes twice"));
  // The number of names is checked first, so that a long list costs little.
  CHECK_THAT(ColumnChoice::Create(std::vector<std::string>(16, "a"), {})
                 .status()
                 .ToString(),
             Contains("not 16"));
}

}  // namespace
}  // namespace forebay::dataset::mds
