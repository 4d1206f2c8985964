#include "server/dataset/manifest/manifest_column.h"

#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::manifest {
namespace {

using tests::ElementsAre;
using tests::IsOk;

ManifestColumn Of(const std::vector<std::string>& texts,
                  bool may_be_integers = true) {
  ManifestColumn column(may_be_integers);
  for (const std::string& text : texts) CHECK_THAT(column.Add(text), IsOk());
  CHECK(column.Finish() == std::nullopt);
  return column;
}

TEST_CASE("A manifest column whose texts are all integers has integers",
          "[manifest][column]") {
  const ManifestColumn column =
      Of({"0", "-12", "9223372036854775807", "-9223372036854775808"});
  REQUIRE(column.has_integers());
  CHECK(column.IntegerAt(0) == 0);
  CHECK(column.IntegerAt(1) == -12);
  CHECK(column.IntegerAt(2) == INT64_MAX);
  CHECK(column.IntegerAt(3) == INT64_MIN);
  CHECK(column.longest() == 0u);
  CHECK_FALSE(Of({"0", "1"}, false).has_integers());
}

TEST_CASE("The integers of a manifest column may be written as floats",
          "[manifest][column]") {
  const ManifestColumn column =
      Of({"0.0", "10.0", "-2.00", "3", "9007199254740993.0"});
  REQUIRE(column.has_integers());
  CHECK(column.IntegerAt(0) == 0);
  CHECK(column.IntegerAt(1) == 10);
  CHECK(column.IntegerAt(2) == -2);
  CHECK(column.IntegerAt(3) == 3);
  CHECK(column.IntegerAt(4) == 9007199254740993);
}

TEST_CASE("A manifest column of integers tells of a cell that is missing",
          "[manifest][column]") {
  const auto finish = [](const std::vector<std::string>& texts) {
    ManifestColumn column(true);
    for (const std::string& text : texts) CHECK_THAT(column.Add(text), IsOk());
    return column.Finish();
  };
  CHECK(finish({"0.0", "", "1.0", ""}) == 1);
  CHECK(finish({"", "7"}) == 0);
  // Columns with these cells are texts.
  CHECK(finish({"", ""}) == std::nullopt);
  CHECK(finish({"1", "", "dog"}) == std::nullopt);
  CHECK(finish({"0.5", "", "1"}) == std::nullopt);
}

TEST_CASE("Anything else than integers in a manifest column is text",
          "[manifest][column]") {
  for (const char* text :
       {"-", "007", "-0", "+1", "1.", ".0", "1.5", "007.0", "1.0.0", " 1", "1 ",
        "1e3", "0x1", "9223372036854775808", "9223372036854775808.0", "a"}) {
    const ManifestColumn column = Of({"12", text});
    CAPTURE(text);
    REQUIRE_FALSE(column.has_integers());
    CHECK(column.TextAt(0) == "12");
    CHECK(column.TextAt(1) == text);
  }
  CHECK(Of({"ab", "", "longest"}).longest() == 7u);
}

TEST_CASE("A manifest column does not mix integers and texts",
          "[manifest][column]") {
  ManifestColumn integers(true);
  REQUIRE_THAT(integers.Add(std::int64_t{7}), IsOk());
  CHECK(integers.Add("8").message() ==
        "is a text, but an integer in rows before");
  ManifestColumn texts(false);
  REQUIRE_THAT(texts.Add("7"), IsOk());
  CHECK(texts.Add(std::int64_t{8}).message() ==
        "is an integer, but a text in rows before");
}

TEST_CASE("A manifest column's classes are sorted by their bytes",
          "[manifest][column]") {
  ManifestColumn column = Of({"b", "a", "B", "b", "\xc3\xa9", "ab"});
  base::WorkingMemory memory(base::AmpleBudget(), "a table");
  CHECK_THAT(*column.TakeClasses(memory),
             ElementsAre("B", "a", "ab", "b", "\xc3\xa9"));
  REQUIRE(column.has_integers());
  const std::vector<std::int64_t> labels = {3, 1, 0, 3, 4, 2};
  for (std::uint64_t row = 0; row < labels.size(); ++row) {
    CHECK(column.IntegerAt(row) == labels[row]);
  }
}

}  // namespace
}  // namespace forebay::dataset::manifest
