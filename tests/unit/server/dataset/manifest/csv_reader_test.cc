#include "server/dataset/manifest/csv_reader.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "server/base/memory_budget.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::manifest {
namespace {

struct Record {
  std::uint64_t line;
  std::vector<std::string> fields;
  friend bool operator==(const Record&, const Record&) = default;
};

// All records; or, as the only one, an error.
std::vector<Record> Read(std::string_view text) {
  base::WorkingMemory memory(base::AmpleBudget(), "a table");
  CsvReader reader(text, &memory);
  std::vector<Record> records;
  std::vector<std::string> record;
  for (;;) {
    const auto more = reader.Next(&record);
    if (!more.ok()) return {{0, {std::string(more.status().message())}}};
    if (!*more) return records;
    records.push_back({reader.line(), record});
  }
}

TEST(CsvReaderTest, ReadsWhatRfc4180Allows) {
  using Records = std::vector<Record>;
  EXPECT_EQ(Read("a,b\r\nc,d\r\n"),
            (Records{{1, {"a", "b"}}, {2, {"c", "d"}}}));
  EXPECT_EQ(Read("a,b\nc,d"), (Records{{1, {"a", "b"}}, {2, {"c", "d"}}}));
  EXPECT_EQ(Read("a,,\n,\n"), (Records{{1, {"a", "", ""}}, {2, {"", ""}}}));
  EXPECT_EQ(Read(" a , b "), (Records{{1, {" a ", " b "}}}));
  EXPECT_EQ(Read("\"a,b\",\"\"\"c\"\"\",\"\"\n"),
            (Records{{1, {"a,b", "\"c\"", ""}}}));
  EXPECT_EQ(Read("\"1\n2\r\n3\",x\ny,z"),
            (Records{{1, {"1\n2\r\n3", "x"}}, {4, {"y", "z"}}}));
  EXPECT_EQ(Read("a,\"b\"\r\n\"c\"\n"), (Records{{1, {"a", "b"}}, {2, {"c"}}}));
}

TEST(CsvReaderTest, PassesOverEmptyLinesAndAByteOrderMark) {
  using Records = std::vector<Record>;
  EXPECT_EQ(Read(""), Records());
  EXPECT_EQ(Read("\n\r\n\n"), Records());
  EXPECT_EQ(Read("\xef\xbb\xbf"
                 "a\n\n\r\nb\n\n"),
            (Records{{1, {"a"}}, {4, {"b"}}}));
  EXPECT_EQ(Read("\xef\xbb\xbf"), Records());
  // That line is not empty.
  EXPECT_EQ(Read("a\n\"\"\nb"), (Records{{1, {"a"}}, {2, {""}}, {3, {"b"}}}));
}

TEST(CsvReaderTest, RefusesWhatIsMalformedAndNamesTheLine) {
  const auto error = [](std::string_view text) {
    return Read(text)[0].fields[0];
  };
  EXPECT_EQ(error("a\nb,\"c\nd"),
            "line 2: a quote is opened that nothing closes");
  EXPECT_EQ(error("a\nb,c\"d\""),
            "line 2: a quote is in a field that does not begin with one");
  EXPECT_EQ(error("\"a\nb\" ,c"),
            "line 2: something follows the quote that ends a field");
  EXPECT_EQ(error("\"a\"b"),
            "line 1: something follows the quote that ends a field");
  EXPECT_EQ(error("\"a\"\rb"),
            "line 1: something follows the quote that ends a field");
  EXPECT_EQ(error("a\rb"), "line 1: a carriage return ends no line");
  EXPECT_EQ(error("a\n\rb"), "line 2: a carriage return ends no line");
  EXPECT_EQ(error("a\r"), "line 1: a carriage return ends no line");
}

// A field may be of quotes alone.
TEST(CsvReaderTest, CountsQuotes) {
  base::MemoryBudget budget(std::uint64_t{1} << 20);
  base::WorkingMemory memory(&budget, "a table");
  std::string text = "\"";
  for (int i = 0; i < 1 << 20; ++i) text += "\"\"";
  text += "\"\n";
  CsvReader reader(text, &memory);
  std::vector<std::string> record;
  EXPECT_TRUE(absl::IsResourceExhausted(reader.Next(&record).status()));
}

}  // namespace
}  // namespace forebay::dataset::manifest
