#include "tools/forebayctl/text_table.h"

#include "tests/catch/catch.h"

namespace forebay::ctl {
namespace {

TextTable Table() {
  TextTable table({{"JOB"}, {"DATASET", false, 1}, {"N", true}});
  table.AddRow({"resnet", "/data/train", "5"});
  table.AddRow({"vé", "/d", "1,234"});
  return table;
}

TEST_CASE("A text table aligns its columns", "[forebayctl][text_table]") {
  CHECK(Table().Format(0) ==
        "JOB     DATASET          N\n"
        "resnet  /data/train      5\n"
        "vé      /d           1,234\n");
}

TEST_CASE("A text table drops columns by rank where room is short",
          "[forebayctl][text_table]") {
  CHECK(Table().Format(26) == Table().Format(0));
  CHECK(Table().Format(25) ==
        "JOB         N\n"
        "resnet      5\n"
        "vé      1,234\n");
}

TEST_CASE("A text table cuts text when no more columns can go",
          "[forebayctl][text_table]") {
  TextTable table({{"JOB"}, {"N", true}});
  table.AddRow({"a-very-long-näme", "7"});
  CHECK(table.Format(12) ==
        "JOB        N\n"
        "a-very-l…  7\n");
  // Columns stay readable, even if this makes the table wider than requested.
  CHECK(table.Format(2) ==
        "JOB       N\n"
        "a-very-…  7\n");
}

TEST_CASE("Names in a text table cannot drive the terminal",
          "[forebayctl][text_table]") {
  TextTable table({{"JOB"}});
  table.AddRow({"a\033[2Jb\n\xC2\x9B"});
  CHECK(table.Format(0) == "JOB\na?[2Jb??\n");
}

}  // namespace
}  // namespace forebay::ctl
