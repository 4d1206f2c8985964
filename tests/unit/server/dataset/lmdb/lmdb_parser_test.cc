#include "server/dataset/lmdb/lmdb_parser.h"

#include <zlib.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "server/base/memory_budget.h"
#include "server/base/status.h"
#include "server/dataset/lmdb/lmdb_page.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/lmdb/golden_lmdb.h"

namespace forebay::dataset::lmdb {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

class LmdbParserTest {
 protected:
  // Parses a file. `before_read` may change the file before each read.
  absl::StatusOr<records::FileRecords> Parse(
      std::string& file, const std::string& database = {},
      const std::function<void(const ByteRange&)>& before_read = nullptr,
      const ReadSizes& sizes = {}) {
    FOREBAY_ASSIGN_OR_RETURN(
        auto parser, LmdbParser::Create({"data.mdb", {.size = file.size()}},
                                        sizes, database, &memory_));
    while (const auto read = parser->next_read()) {
      CHECK(read->length > 0u);
      CHECK(read->offset + read->length <= file.size());
      if (before_read) before_read(*read);
      bytes_read_ += read->length;
      FOREBAY_RETURN_IF_ERROR(parser->Take(
          AsBytes(std::string_view(file).substr(read->offset, read->length))));
    }
    return parser->TakeRecords();
  }

  base::MemoryBudget budget_{1 << 24};
  base::WorkingMemory memory_{&budget_, "a test"};
  std::uint64_t bytes_read_ = 0;
};

void ExpectEqual(const records::FileRecords& found, const std::string& file,
                 const GoldenDatabase& expected) {
  REQUIRE(found.ends.size() == expected.entries.size());
  REQUIRE(found.begins.size() == expected.entries.size());
  records::KeyReader keys(found.keys.bytes);
  for (std::size_t i = 0; i < found.ends.size(); ++i) {
    const std::uint64_t begin = found.begins[i] + kBytesBeforeValue;
    REQUIRE(found.begins[i] < found.ends[i]);
    REQUIRE(found.ends[i] - begin == expected.entries[i].length);
    const auto value = AsBytes(file).subspan(begin, found.ends[i] - begin);
    CHECK(crc32(0, value.data(), value.size()) == expected.entries[i].crc);
    REQUIRE(keys.Next());
    CHECK(keys.key() == expected.entries[i].key);
  }
  CHECK_FALSE(keys.Next());
}

TEST_CASE_METHOD(LmdbParserTest, "The LMDB parser finds what liblmdb finds",
                 "[lmdb][lmdb_parser]") {
  for (const GoldenLmdb& golden : GoldenLmdbs()) {
    std::string file = GoldenFile(golden.file);
    for (const GoldenDatabase& database : golden.databases) {
      for (const ReadSizes& sizes :
           {ReadSizes{}, ReadSizes{1, 1}, ReadSizes{1 << 18, 1 << 21}}) {
        const auto found = Parse(file, database.name, nullptr, sizes);
        UNSCOPED_INFO(golden.file << ": " << found.status());
        REQUIRE_THAT(found, IsOk());
        ExpectEqual(*found, file, database);
        CHECK(found->transaction_id == golden.transaction + 1);
      }
    }
  }
}

TEST_CASE_METHOD(LmdbParserTest,
                 "The LMDB parser does not read pages that nobody uses",
                 "[lmdb][lmdb_parser]") {
  std::string file = GoldenFile("few.mdb");
  const std::size_t used = file.size();
  file.resize(std::size_t{1} << 24);
  REQUIRE_THAT(Parse(file), IsOk());
  CHECK(bytes_read_ <= 3 * used);
}

// Changes the meta pages as a later transaction would that ends after `file`
// was written.
void EndAnother(std::string& file, std::uint64_t page_bytes) {
  const std::uint64_t first = Get<std::uint64_t>(file, 144);
  const std::uint64_t second = Get<std::uint64_t>(file, page_bytes + 144);
  Put<std::uint64_t>(file, (first < second ? 0 : page_bytes) + 144,
                     std::max(first, second) + 1);
}

TEST_CASE_METHOD(LmdbParserTest,
                 "The LMDB parser refuses a file that is written to meanwhile",
                 "[lmdb][lmdb_parser]") {
  const std::string original = GoldenFile("deep_512.mdb");
  for (int when : {2, 5, 9}) {
    std::string file = original;
    int reads = 0;
    const auto found = Parse(file, {},
                             [&](const ByteRange&) {
                               if (++reads == when) EndAnother(file, 512);
                             },
                             {512, 512});
    CAPTURE(when);
    CHECK(found.status() ==
          absl::FailedPreconditionError(
              "data.mdb: was written to while it was indexed"));
  }
}

TEST_CASE_METHOD(LmdbParserTest,
                 "The LMDB parser does not take pages that a writer has used "
                 "anew for damage",
                 "[lmdb][lmdb_parser]") {
  std::string file = GoldenFile("deep_512.mdb");
  int reads = 0;
  const auto found = Parse(
      file, {},
      [&](const ByteRange& read) {
        if (++reads != 6) return;
        std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(read.offset),
                    512, 'x');
        EndAnother(file, 512);
      },
      {512, 512});
  CHECK_THAT(found, HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_CASE_METHOD(LmdbParserTest, "The LMDB parser tells of damage to a page",
                 "[lmdb][lmdb_parser]") {
  std::string file = GoldenFile("deep_512.mdb");
  int reads = 0;
  const auto found = Parse(
      file, {},
      [&](const ByteRange& read) {
        if (++reads == 6)
          std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(read.offset),
                      512, 'x');
      },
      {512, 512});
  CHECK_THAT(found, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(found.status().message(), Contains("data.mdb: at byte "));
}

TEST_CASE_METHOD(LmdbParserTest,
                 "The LMDB parser tells of damage to a meta page",
                 "[lmdb][lmdb_parser]") {
  for (const auto& [offset, says] :
       {std::pair(16, "data.mdb: at byte 0: there is no meta page of LMDB"),
        std::pair(528, "data.mdb: at byte 512: there is no meta page of LMDB"),
        std::pair(512, "data.mdb: at byte 512: page 1 says that it is page 0"),
        std::pair(552,
                  "data.mdb: at byte 512: the meta page speaks of pages "
                  "of 0 bytes")}) {
    std::string file = GoldenFile("deep_512.mdb");
    std::fill_n(file.begin() + offset, 4, '\0');
    CHECK(Parse(file).status() == absl::DataLossError(says));
  }
}

TEST_CASE_METHOD(LmdbParserTest,
                 "The LMDB parser refuses files that are not LMDB files",
                 "[lmdb][lmdb_parser]") {
  std::string file;
  CHECK(Parse(file).status() ==
        absl::DataLossError(
            "data.mdb: is not an LMDB file: it has only 0 bytes"));
  for (const std::size_t size : {200u, 4096u, 4200u, 9000u}) {
    file = GoldenFile("few.mdb").substr(0, size);
    const auto found = Parse(file);
    CAPTURE(size);
    CHECK_THAT(found, HasCode(absl::StatusCode::kDataLoss));
    CHECK_THAT(found.status().message(), Contains("truncated"));
  }
  file.assign(20000, 'x');
  CHECK_THAT(Parse(file), HasCode(absl::StatusCode::kDataLoss));
}

TEST_CASE_METHOD(LmdbParserTest, "The LMDB parser counts its memory",
                 "[lmdb][lmdb_parser]") {
  base::MemoryBudget budget(4096);
  base::WorkingMemory memory(&budget, "a test");
  const std::string file = GoldenFile("deep_512.mdb");
  auto parser =
      LmdbParser::Create({"data.mdb", {.size = file.size()}}, {}, "", &memory);
  REQUIRE_THAT(parser, IsOk());
  absl::Status status;
  while (status.ok()) {
    const auto read = (*parser)->next_read();
    REQUIRE(read.has_value());
    status = (*parser)->Take(
        AsBytes(std::string_view(file).substr(read->offset, read->length)));
  }
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace forebay::dataset::lmdb
