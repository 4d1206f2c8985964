#include "server/dataset/manifest/column.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::manifest {
namespace {

using testing::ElementsAre;

Column Of(const std::vector<std::string>& texts, bool may_be_integers = true) {
  Column column(may_be_integers);
  for (const std::string& text : texts) EXPECT_TRUE(column.Add(text).ok());
  EXPECT_EQ(column.Finish(), std::nullopt);
  return column;
}

TEST(ColumnTest, TextsThatAreAllIntegersAreIntegers) {
  const Column column =
      Of({"0", "-12", "9223372036854775807", "-9223372036854775808"});
  ASSERT_TRUE(column.has_integers());
  EXPECT_EQ(column.IntegerAt(0), 0);
  EXPECT_EQ(column.IntegerAt(1), -12);
  EXPECT_EQ(column.IntegerAt(2), INT64_MAX);
  EXPECT_EQ(column.IntegerAt(3), INT64_MIN);
  EXPECT_EQ(column.longest(), 0u);
  EXPECT_FALSE(Of({"0", "1"}, false).has_integers());
}

TEST(ColumnTest, IntegersMayBeWrittenAsFloats) {
  const Column column = Of({"0.0", "10.0", "-2.00", "3", "9007199254740993.0"});
  ASSERT_TRUE(column.has_integers());
  EXPECT_EQ(column.IntegerAt(0), 0);
  EXPECT_EQ(column.IntegerAt(1), 10);
  EXPECT_EQ(column.IntegerAt(2), -2);
  EXPECT_EQ(column.IntegerAt(3), 3);
  EXPECT_EQ(column.IntegerAt(4), 9007199254740993);
}

TEST(ColumnTest, TellsOfACellThatIntegersLack) {
  const auto finish = [](const std::vector<std::string>& texts) {
    Column column(true);
    for (const std::string& text : texts) EXPECT_TRUE(column.Add(text).ok());
    return column.Finish();
  };
  EXPECT_EQ(finish({"0.0", "", "1.0", ""}), 1);
  EXPECT_EQ(finish({"", "7"}), 0);
  // These are texts.
  EXPECT_EQ(finish({"", ""}), std::nullopt);
  EXPECT_EQ(finish({"1", "", "dog"}), std::nullopt);
  EXPECT_EQ(finish({"0.5", "", "1"}), std::nullopt);
}

TEST(ColumnTest, AnythingElseIsText) {
  for (const char* text :
       {"-", "007", "-0", "+1", "1.", ".0", "1.5", "007.0", "1.0.0", " 1", "1 ",
        "1e3", "0x1", "9223372036854775808", "9223372036854775808.0", "a"}) {
    const Column column = Of({"12", text});
    ASSERT_FALSE(column.has_integers()) << text;
    EXPECT_EQ(column.TextAt(0), "12");
    EXPECT_EQ(column.TextAt(1), text);
  }
  EXPECT_EQ(Of({"ab", "", "longest"}).longest(), 7u);
}

TEST(ColumnTest, DoesNotMixIntegersAndTexts) {
  Column integers(true);
  ASSERT_TRUE(integers.Add(std::int64_t{7}).ok());
  EXPECT_EQ(integers.Add("8").message(),
            "is a text, but an integer in rows before");
  Column texts(false);
  ASSERT_TRUE(texts.Add("7").ok());
  EXPECT_EQ(texts.Add(std::int64_t{8}).message(),
            "is an integer, but a text in rows before");
}

TEST(ColumnTest, ClassesAreSortedByTheirBytes) {
  Column column = Of({"b", "a", "B", "b", "\xc3\xa9", "ab"});
  base::WorkingMemory memory(base::AmpleBudget(), "a table");
  EXPECT_THAT(*column.TakeClasses(memory),
              ElementsAre("B", "a", "ab", "b", "\xc3\xa9"));
  ASSERT_TRUE(column.has_integers());
  const std::vector<std::int64_t> labels = {3, 1, 0, 3, 4, 2};
  for (std::uint64_t row = 0; row < labels.size(); ++row) {
    EXPECT_EQ(column.IntegerAt(row), labels[row]);
  }
}

}  // namespace
}  // namespace forebay::dataset::manifest
