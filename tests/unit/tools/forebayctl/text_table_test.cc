#include "tools/forebayctl/text_table.h"

#include <gtest/gtest.h>

namespace forebay::ctl {
namespace {

TextTable Table() {
  TextTable table({{"JOB"}, {"DATASET", false, 1}, {"N", true}});
  table.AddRow({"resnet", "/data/train", "5"});
  table.AddRow({"vé", "/d", "1,234"});
  return table;
}

TEST(TextTableTest, AlignsColumns) {
  EXPECT_EQ(Table().Format(0),
            "JOB     DATASET          N\n"
            "resnet  /data/train      5\n"
            "vé      /d           1,234\n");
}

TEST(TextTableTest, DropsColumnsByRankWhereThereIsNoRoom) {
  EXPECT_EQ(Table().Format(26), Table().Format(0));
  EXPECT_EQ(Table().Format(25),
            "JOB         N\n"
            "resnet      5\n"
            "vé      1,234\n");
}

TEST(TextTableTest, CutsTextWhenNoMoreColumnsCanGo) {
  TextTable table({{"JOB"}, {"N", true}});
  table.AddRow({"a-very-long-näme", "7"});
  EXPECT_EQ(table.Format(12),
            "JOB        N\n"
            "a-very-l…  7\n");
  // It stays readable, even where that is too wide.
  EXPECT_EQ(table.Format(2),
            "JOB       N\n"
            "a-very-…  7\n");
}

TEST(TextTableTest, NamesCannotDriveTheTerminal) {
  TextTable table({{"JOB"}});
  table.AddRow({"a\033[2Jb\n\xC2\x9B"});
  EXPECT_EQ(table.Format(0), "JOB\na?[2Jb??\n");
}

}  // namespace
}  // namespace forebay::ctl
