#include "server/dataset/manifest/csv_reader.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/base/memory_budget.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::manifest {
namespace {

using tests::HasCode;

struct Record {
  std::uint64_t line;
  std::vector<std::string> fields;
  friend bool operator==(const Record&, const Record&) = default;
};

// Returns all records. If there is an error, returns one record with line 0 and
// the error.
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

TEST_CASE("The CSV reader reads what RFC 4180 allows",
          "[manifest][csv_reader]") {
  using Records = std::vector<Record>;
  CHECK(Read("a,b\r\nc,d\r\n") == Records{{1, {"a", "b"}}, {2, {"c", "d"}}});
  CHECK(Read("a,b\nc,d") == Records{{1, {"a", "b"}}, {2, {"c", "d"}}});
  CHECK(Read("a,,\n,\n") == Records{{1, {"a", "", ""}}, {2, {"", ""}}});
  CHECK(Read(" a , b ") == Records{{1, {" a ", " b "}}});
  CHECK(Read("\"a,b\",\"\"\"c\"\"\",\"\"\n") ==
        Records{{1, {"a,b", "\"c\"", ""}}});
  CHECK(Read("\"1\n2\r\n3\",x\ny,z") ==
        Records{{1, {"1\n2\r\n3", "x"}}, {4, {"y", "z"}}});
  CHECK(Read("a,\"b\"\r\n\"c\"\n") == Records{{1, {"a", "b"}}, {2, {"c"}}});
}

TEST_CASE("The CSV reader passes over empty lines and a byte order mark",
          "[manifest][csv_reader]") {
  using Records = std::vector<Record>;
  CHECK(Read("").empty());
  CHECK(Read("\n\r\n\n").empty());
  CHECK(Read("\xef\xbb\xbf"
             "a\n\n\r\nb\n\n") == Records{{1, {"a"}}, {4, {"b"}}});
  CHECK(Read("\xef\xbb\xbf").empty());
  // A line that consists of quotes is not empty.
  CHECK(Read("a\n\"\"\nb") == Records{{1, {"a"}}, {2, {""}}, {3, {"b"}}});
}

TEST_CASE("The CSV reader refuses what is malformed and names the line",
          "[manifest][csv_reader]") {
  const auto error = [](std::string_view text) {
    return Read(text)[0].fields[0];
  };
  CHECK(error("a\nb,\"c\nd") ==
        "line 2: a quote is opened that nothing closes");
  CHECK(error("a\nb,c\"d\"") ==
        "line 2: a quote is in a field that does not begin with one");
  CHECK(error("\"a\nb\" ,c") ==
        "line 2: something follows the quote that ends a field");
  CHECK(error("\"a\"b") ==
        "line 1: something follows the quote that ends a field");
  CHECK(error("\"a\"\rb") ==
        "line 1: something follows the quote that ends a field");
  CHECK(error("a\rb") == "line 1: a carriage return ends no line");
  CHECK(error("a\n\rb") == "line 2: a carriage return ends no line");
  CHECK(error("a\r") == "line 1: a carriage return ends no line");
}

// A field may consist of quotes only, each of which is written as two.
TEST_CASE("The CSV reader counts the memory of a field of quotes",
          "[manifest][csv_reader]") {
  base::MemoryBudget budget(std::uint64_t{1} << 20);
  base::WorkingMemory memory(&budget, "a table");
  std::string text = "\"";
  for (int i = 0; i < 1 << 20; ++i) text += "\"\"";
  text += "\"\n";
  CsvReader reader(text, &memory);
  std::vector<std::string> record;
  CHECK_THAT(reader.Next(&record),
             HasCode(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace forebay::dataset::manifest
