#include "server/dataset/lmdb/lmdb_walk.h"

#include <zlib.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "server/base/status.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/lmdb/golden_lmdb.h"

namespace forebay::dataset::lmdb {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

// Returns the entries of `file`. Each piece begins `extra` bytes before the
// wanted bytes, and ends `extra` bytes after them.
absl::StatusOr<std::vector<LmdbEntry>> Entries(std::string_view file,
                                               std::string database = {},
                                               std::uint64_t extra = 0) {
  FOREBAY_ASSIGN_OR_RETURN(
      LmdbWalk walk,
      LmdbWalk::Create("data.mdb", file.size(), std::move(database)));
  std::vector<LmdbEntry> entries;
  std::uint64_t steps = 0;
  while (const auto wanted = walk.wanted()) {
    CHECK(wanted->offset + wanted->length <= file.size());
    CHECK(++steps <= 2 + 2 * file.size() / 512);
    const std::uint64_t before = std::min(extra, wanted->offset);
    const auto piece =
        file.substr(wanted->offset - before, before + wanted->length + extra);
    FOREBAY_RETURN_IF_ERROR(
        walk.Parse(wanted->offset - before, AsBytes(piece), &entries));
  }
  return entries;
}

void ExpectError(const std::string& file, absl::StatusCode code,
                 std::string_view reason, const std::string& database = {}) {
  const absl::Status status = Entries(file, database).status();
  CHECK_THAT(status, HasCode(code));
  CHECK_THAT(status.message(), Contains(std::string(reason)));
  CHECK_THAT(status.message(), Contains("data.mdb: "));
}

void ExpectEqual(const std::vector<LmdbEntry>& found,
                 const std::vector<LmdbEntry>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].key == expected[i].key);
    CHECK(found[i].offset == expected[i].offset);
    CHECK(found[i].length == expected[i].length);
  }
}

// Returns the offset of a file's newest meta page.
std::uint64_t MetaOf(const std::string& file) {
  const std::uint64_t page = Get<std::uint32_t>(file, 40);
  return Get<std::uint64_t>(file, 144) < Get<std::uint64_t>(file, page + 144)
             ? page
             : 0;
}

// Returns the offset of the root in deep_512.mdb, which is a branch page.
std::uint64_t RootOf(const std::string& file) {
  return 512 * Get<std::uint64_t>(file, MetaOf(file) + 128);
}

std::uint64_t NodeOf(const std::string& file, std::uint64_t page,
                     std::size_t index) {
  return page + Get<std::uint16_t>(file, page + 16 + 2 * index);
}

TEST_CASE("The LMDB walk finds what liblmdb finds", "[lmdb][lmdb_walk]") {
  std::size_t entry_count = 0;
  for (const GoldenLmdb& golden : GoldenLmdbs()) {
    const std::string file = GoldenFile(golden.file);
    for (const GoldenDatabase& database : golden.databases) {
      const auto found = Entries(file, database.name);
      UNSCOPED_INFO(golden.file << ": " << found.status());
      REQUIRE_THAT(found, IsOk());
      CAPTURE(golden.file);
      REQUIRE(found->size() == database.entries.size());
      for (std::size_t i = 0; i < found->size(); ++i) {
        const LmdbEntry& entry = (*found)[i];
        const GoldenEntry& expected = database.entries[i];
        CHECK(entry.key == expected.key);
        REQUIRE(entry.length == expected.length);
        const auto value = AsBytes(file).subspan(entry.offset, entry.length);
        CHECK(crc32(0, value.data(), value.size()) == expected.crc);
      }
      entry_count += found->size();
    }
  }
  CHECK(entry_count > 1500u);
}

TEST_CASE("The LMDB walk finds the same in pieces of any length",
          "[lmdb][lmdb_walk]") {
  for (const GoldenLmdb& golden : GoldenLmdbs()) {
    const std::string file = GoldenFile(golden.file);
    for (const GoldenDatabase& database : golden.databases) {
      const auto expected = Entries(file, database.name);
      REQUIRE_THAT(expected, IsOk());
      for (const std::uint64_t extra : {1, 511, 512, 1500, 8192, 1 << 20}) {
        const auto found = Entries(file, database.name, extra);
        REQUIRE_THAT(found, IsOk());
        ExpectEqual(*found, *expected);
      }
    }
  }
}

TEST_CASE("The LMDB walk knows the page size and the transaction",
          "[lmdb][lmdb_walk]") {
  for (const GoldenLmdb& golden : GoldenLmdbs()) {
    const std::string file = GoldenFile(golden.file);
    auto walk = LmdbWalk::Create("data.mdb", file.size(),
                                 golden.databases.front().name);
    REQUIRE_THAT(walk, IsOk());
    std::vector<LmdbEntry> entries;
    REQUIRE_THAT(walk->Parse(0, AsBytes(file), &entries), IsOk());
    CHECK_FALSE(walk->wanted().has_value());
    CHECK(walk->page_bytes() == golden.page_bytes);
    CHECK(walk->transaction() == golden.transaction);
  }
}

TEST_CASE("The LMDB walk asks for no pages of values", "[lmdb][lmdb_walk]") {
  const std::string file = GoldenFile("long_512.mdb");
  auto walk = LmdbWalk::Create("data.mdb", file.size());
  REQUIRE_THAT(walk, IsOk());
  std::vector<LmdbEntry> entries;
  std::uint64_t pages = 0;
  while (const auto wanted = walk->wanted()) {
    const auto piece = AsBytes(file).subspan(wanted->offset, wanted->length);
    REQUIRE_THAT(walk->Parse(wanted->offset, piece, &entries), IsOk());
    ++pages;
  }
  CHECK(pages == 8u);  // five of the pages are leaves
  CHECK(entries.back().offset % 512 == kLmdbPageHeader);
}

TEST_CASE("The LMDB walk ignores bytes out of order", "[lmdb][lmdb_walk]") {
  const std::string file = GoldenFile("few.mdb");
  auto walk = LmdbWalk::Create("data.mdb", file.size());
  REQUIRE_THAT(walk, IsOk());
  std::vector<LmdbEntry> entries;
  CHECK_THAT(walk->Parse(1, AsBytes(file).subspan(1), &entries), IsOk());
  CHECK_THAT(walk->Parse(0, AsBytes(file).subspan(0, 151), &entries), IsOk());
  CHECK_THAT(walk->Parse(0, {}, &entries), IsOk());
  CHECK_THAT(walk->Parse(file.size(), {}, &entries), IsOk());
  CHECK_THAT(walk->Parse(~std::uint64_t{0}, AsBytes(file), &entries), IsOk());
  CHECK(walk->wanted()->offset == 0u);
  CHECK(entries.empty());
}

TEST_CASE(
    "The LMDB walk refuses by name a database with several values for a key",
    "[lmdb][lmdb_walk]") {
  const std::string file = GoldenFile("dupsort_512.mdb");
  for (const char* name : {"fixed", "several"}) {
    ExpectError(file, absl::StatusCode::kUnimplemented,
                "data.mdb: the database may have several values for a key "
                "(MDB_DUPSORT)",
                name);
  }
  const auto plain = Entries(file, "plain");
  REQUIRE_THAT(plain, IsOk());
  CHECK(plain->size() == 1u);
  std::string unnamed = GoldenFile("few.mdb");
  Put<std::uint16_t>(unnamed, MetaOf(unnamed) + 92, 0x04);
  ExpectError(unnamed, absl::StatusCode::kUnimplemented, "MDB_DUPSORT");
  // In the damaged file, the database's record lacks the flag MDB_DUPSORT.
  std::string damaged = file;
  for (std::size_t at = 0; (at = damaged.find("several", at)) != file.npos;) {
    at += 7;
    Put<std::uint16_t>(damaged, at + 4, 0);
  }
  ExpectError(damaged, kDataLoss, "node 0 of page ", "several");
}

TEST_CASE("The LMDB walk names the databases there are", "[lmdb][lmdb_walk]") {
  const std::string file = GoldenFile("only_named_512.mdb");
  ExpectError(file, absl::StatusCode::kInvalidArgument,
              "data.mdb: has entries in its named databases alone (from "
              "behind, part-0, part-1, part-2, part-3, part-4, part-5, part-6 "
              "and 4 more), of which none was named by database=");
  ExpectError(file, absl::StatusCode::kNotFound,
              "data.mdb: has no database named part-, but from behind, ",
              "part-");
  ExpectError(GoldenFile("few.mdb"), absl::StatusCode::kNotFound,
              "data.mdb: has no named databases, and so none named nothing",
              "nothing");
  ExpectError(GoldenFile("empty.mdb"), absl::StatusCode::kNotFound,
              "and so none named a\xff", "a\xff");
  ExpectError(GoldenFile("empty.mdb"), absl::StatusCode::kNotFound,
              "named " + std::string(64, 'a') + "...", std::string(500, 'a'));
}

TEST_CASE("The LMDB walk refuses what is not an LMDB file",
          "[lmdb][lmdb_walk]") {
  ExpectError("", kDataLoss, "has only 0 bytes");
  ExpectError("hello", kDataLoss, "has only 5 bytes");
  ExpectError(std::string(8192, 'x'), kDataLoss,
              "data.mdb: at byte 0: there is no meta page of LMDB");
  std::string file = GoldenFile("few.mdb");
  Put<std::uint32_t>(file, 20, 999);
  ExpectError(file, absl::StatusCode::kUnimplemented,
              "data.mdb: is an LMDB file of format version 999");
  file = GoldenFile("few.mdb");
  Put<std::uint32_t>(file, 4096 + 16, 0);
  ExpectError(file, kDataLoss, "at byte 4096: there is no meta page");
}

TEST_CASE("The LMDB walk ignores what lies behind the end",
          "[lmdb][lmdb_walk]") {
  const std::string file = GoldenFile("churn_512.mdb");
  const auto expected = Entries(file);
  const auto found = Entries(file + std::string(700, 'x'));
  CAPTURE(found.status());
  REQUIRE_THAT(found, IsOk());
  REQUIRE_THAT(expected, IsOk());
  ExpectEqual(*found, *expected);
}

TEST_CASE("The LMDB walk notices truncations of a file", "[lmdb][lmdb_walk]") {
  for (const GoldenLmdb& golden : GoldenLmdbs()) {
    const std::string file = GoldenFile(golden.file);
    const std::string name = golden.databases.back().name;
    const auto all = Entries(file, name);
    REQUIRE_THAT(all, IsOk());
    for (std::size_t length = 0; length < file.size(); length += 64) {
      const std::string_view part = std::string_view(file).substr(0, length);
      const auto found = Entries(part, name);
      if (!found.ok()) {
        CAPTURE(found.status());
        CHECK(found.status().code() == kDataLoss);
        continue;
      }
      // A truncated file is only readable if no page in use was cut off.
      ExpectEqual(*found, *all);
      for (const LmdbEntry& entry : *found) {
        CHECK(entry.offset + entry.length <= length);
      }
    }
    CHECK_FALSE(Entries(file.substr(0, golden.page_bytes), name).ok());
  }
  ExpectError(GoldenFile("deep_512.mdb").substr(0, 10000), kDataLoss,
              "the file is truncated: it has 19 pages, and the tree page ");
  ExpectError(GoldenFile("long_512.mdb").substr(0, 8192), kDataLoss,
              "the file is truncated: the value of 00000");
}

// In small files, each byte gets every other value; in larger ones, some other
// values.
TEST_CASE("Any damage makes the LMDB walk yield errors or entries in the file",
          "[lmdb][lmdb_walk]") {
  const struct {
    const char* file;
    const char* database;
    int step;
  } cases[] = {{"few_2048.mdb", "", 1},
               {"named_512.mdb", "val", 15},
               {"named_512.mdb", "", 15},
               {"long_512.mdb", "", 15}};
  for (const auto& [golden, database, step] : cases) {
    std::string file = GoldenFile(golden);
    for (std::size_t at = 0; at < file.size(); ++at) {
      const char old = file[at];
      for (int flip = 1; flip < 256; flip += step) {
        file[at] = static_cast<char>(old ^ flip);
        const auto found = Entries(file, database);
        if (!found.ok()) continue;
        for (const LmdbEntry& entry : *found) {
          REQUIRE(entry.offset <= file.size());
          REQUIRE(entry.length <= file.size() - entry.offset);
        }
      }
      file[at] = old;
    }
  }
}

TEST_CASE("The LMDB walk ends at cycles with an error", "[lmdb][lmdb_walk]") {
  const std::string good = GoldenFile("deep_512.mdb");
  const std::uint64_t root = RootOf(good);
  const std::uint64_t child =
      512 * Get<std::uint32_t>(good, NodeOf(good, root, 1));
  for (const std::uint64_t page : {root, child}) {
    std::string file = good;
    Put<std::uint32_t>(file, NodeOf(file, child, 2),
                       static_cast<std::uint32_t>(page / 512));
    ExpectError(file, kDataLoss, "lies below itself");
  }
}

// The tree has 32 levels. Each page except the last refers 27 times to the next
// page.
TEST_CASE("The LMDB walk ends at trees that reach pages twice",
          "[lmdb][lmdb_walk]") {
  std::string file = GoldenFile("deep_512.mdb");
  const std::uint64_t meta = MetaOf(file);
  Put<std::uint16_t>(file, meta + 94, 32);
  Put<std::uint64_t>(file, meta + 120, ~std::uint64_t{0});
  Put<std::uint64_t>(file, meta + 128, 2);
  const std::string branch =
      file.substr(RootOf(GoldenFile("deep_512.mdb")), 512);
  for (std::uint64_t page = 2; page < 34; ++page) {
    file.replace(512 * page, 512, branch);
    Put<std::uint64_t>(file, 512 * page, page);
    const std::size_t count = (Get<std::uint16_t>(branch, 12) - 16) / 2;
    for (std::size_t i = 0; i < count; ++i) {
      Put<std::uint32_t>(file, NodeOf(file, 512 * page, i),
                         static_cast<std::uint32_t>(page + 1));
    }
  }
  file.replace(512 * 33, 512, GoldenFile("deep_512.mdb"), 512 * 2, 512);
  Put<std::uint64_t>(file, 512 * 33, 33);
  ExpectError(file, kDataLoss, "the tree has pages that it reaches twice");
}

TEST_CASE("The LMDB walk checks that the tree is what its record says",
          "[lmdb][lmdb_walk]") {
  const std::string good = GoldenFile("deep_512.mdb");
  const std::uint64_t meta = MetaOf(good);
  for (const auto& [depth, reason] : {std::pair(2, "is not a leaf of a tree"),
                                      {4, "is not a branch of a tree"},
                                      {33, "has 33 levels, more than 32"},
                                      {0, "contradicts itself"}}) {
    std::string file = good;
    Put<std::uint16_t>(file, meta + 94, static_cast<std::uint16_t>(depth));
    ExpectError(file, kDataLoss, reason);
  }
  for (const auto& [entries, reason] :
       {std::pair(1199, "has more than the 1199 entries"),
        {1201, "has 1200 entries, and not the 1201"}}) {
    std::string file = good;
    Put<std::uint64_t>(file, meta + 120, entries);
    ExpectError(file, kDataLoss, reason);
  }
  for (const std::uint64_t root :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 60}) {
    std::string file = good;
    Put<std::uint64_t>(file, meta + 128, root);
    ExpectError(file, kDataLoss, "of the tree lies outside the pages in use");
  }
  // The page lies in the file, but after the last page in use.
  std::string file = good;
  Put<std::uint64_t>(file, meta + 136, 10);
  ExpectError(file, kDataLoss, "lies outside the pages in use, 2 to 10");
}

TEST_CASE("The LMDB walk checks that long values lie in pages in use",
          "[lmdb][lmdb_walk]") {
  const std::string good = GoldenFile("long_512.mdb");
  const auto entries = Entries(good);
  REQUIRE_THAT(entries, IsOk());
  const LmdbEntry& last = entries->back();  // its value takes several pages
  const std::uint64_t last_page = Get<std::uint64_t>(good, MetaOf(good) + 136);
  std::size_t node = 0;
  for (std::size_t at = 1024; (at = good.find(last.key, at)) != good.npos;
       ++at) {
    if (Get<std::uint16_t>(good, at - 4) == 1) node = at - 8;
  }
  REQUIRE(node > 0u);
  REQUIRE(Get<std::uint32_t>(good, node) == last.length);
  for (const std::uint64_t page :
       {std::uint64_t{0}, std::uint64_t{1}, last_page, last_page + 1,
        std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
    std::string file = good;
    Put<std::uint64_t>(file, node + 16, page);
    ExpectError(file, kDataLoss, "lies outside the pages in use");
  }
  for (const std::uint32_t length : {1u << 20, 0xffffffffu}) {
    std::string file = good;
    Put<std::uint32_t>(file, node, length);
    ExpectError(file, kDataLoss, "lies outside the pages in use");
    Put<std::uint64_t>(file, MetaOf(file) + 136, ~std::uint64_t{0});
    ExpectError(file, kDataLoss, "the file is truncated: the value of ");
  }
}

}  // namespace
}  // namespace forebay::dataset::lmdb
