#include "server/dataset/records/record_index.h"

#include <string>
#include <utility>
#include <vector>

#include "server/dataset/records/build_record_index.h"
#include "server/dataset/records/record_index_format.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::records {
namespace {

using tests::HasCode;
using tests::IsOk;

using storage::ListedObject;

std::vector<ListedObject> Files() {
  return {{"a", {100, 7, {11, 12}}},
          {"none", {0, 7, {13, 14}}},
          {"b", {50, -8, {15, 16}}}};
}

std::vector<FileRecords> Records() {
  return {{.begin = 0, .ends = {20, 100}, .bounds = {{4, 8}}},
          {.begin = 0, .ends = {}, .bounds = {}},
          {.begin = 10, .ends = {11, 30}, .bounds = {{0, 6}}}};
}

std::shared_ptr<const RecordIndex> Index() {
  base::WorkingMemory memory(base::AmpleBudget(), "an index");
  auto index = BuildRecordIndex("a format", Files(), Records(), memory);
  CHECK_THAT(index, IsOk());
  return *std::move(index);
}

TEST_CASE("A record index knows where records lie", "[records][record_index]") {
  const auto index = Index();
  REQUIRE(index->size() == 4);
  CHECK(index->format() == "a format");
  CHECK(index->longest() == 80);
  REQUIRE(index->bounds().size() == 1);
  CHECK(index->bounds()[0] == LengthBounds{0, 8});
  const struct {
    std::size_t file;
    std::uint64_t record, offset, length;
  } expected[] = {{0, 0, 0, 20}, {0, 1, 20, 80}, {2, 0, 10, 1}, {2, 1, 11, 19}};
  for (std::uint64_t i = 0; i < 4; ++i) {
    const RecordIndex::Extent extent = index->ExtentOf(i);
    CAPTURE(i);
    CHECK(extent.file == expected[i].file);
    CHECK(extent.record == expected[i].record);
    CHECK(extent.offset == expected[i].offset);
    CHECK(extent.length == expected[i].length);
  }
  CHECK(index->FileAt(2).name == "b");
  CHECK(index->FileAt(2).version == storage::ObjectVersion{50, -8, {15, 16}});
}

TEST_CASE("A record index is of its files in their versions",
          "[records][record_index]") {
  const auto index = Index();
  CHECK(index->IsOf(Files()));
  auto others = Files();
  others[0].name = "c";
  CHECK_FALSE(index->IsOf(others));
  others = Files();
  others[2].version.stamp = 0;
  CHECK_FALSE(index->IsOf(others));
  others = Files();
  others[2].version.revision.ctime_nanos = 0;
  CHECK_FALSE(index->IsOf(others));
  others.pop_back();
  CHECK_FALSE(index->IsOf(others));
}

TEST_CASE(
    "A record index accepts a touched file whose records are where they were",
    "[records][record_index]") {
  const auto index = Index();
  CHECK(index->RevisionOf("b") == storage::Revision{15, 16});
  CHECK(index->Accept("b", {15, 99}, Records()[2]));
  CHECK(index->RevisionOf("b") == storage::Revision{15, 99});
  CHECK(index->FileAt(2).version.revision.ctime_nanos == 99);
  // The index refuses records of another file, of another place in the list,
  // and of another number.
  CHECK_FALSE(index->Accept("b", {14, 100}, Records()[2]));
  CHECK_FALSE(index->Accept("b", {15, 100},
                            {.begin = 9, .ends = {11, 30}, .bounds = {}}));
  CHECK_FALSE(index->Accept("b", {15, 100},
                            {.begin = 10, .ends = {12, 30}, .bounds = {}}));
  CHECK_FALSE(
      index->Accept("b", {15, 100}, {.begin = 10, .ends = {11}, .bounds = {}}));
  CHECK(index->RevisionOf("b") == storage::Revision{15, 99});
}

TEST_CASE("A record index that refuses a file changes none of its entries",
          "[records][record_index]") {
  // The dataset lists the file "b" twice, with other records each time.
  auto files = Files();
  files.push_back(files[2]);
  auto records = Records();
  records.push_back({.begin = 10, .ends = {12, 30}, .bounds = {{0, 6}}});
  base::WorkingMemory memory(base::AmpleBudget(), "an index");
  const auto index =
      BuildRecordIndex("a format", files, std::move(records), memory);
  REQUIRE_THAT(index, IsOk());
  for (const std::uint64_t end : {11, 12}) {
    CAPTURE(end);
    CHECK_FALSE((*index)->Accept(
        "b", {15, 99}, {.begin = 10, .ends = {end, 30}, .bounds = {}}));
    CHECK((*index)->IsOf(files));
  }
}

TEST_CASE("A record index's version tells indexes apart",
          "[records][record_index]") {
  const auto version_of = [](std::string format, auto files, auto records) {
    base::WorkingMemory memory(base::AmpleBudget(), "an index");
    return (*BuildRecordIndex(std::move(format), files, std::move(records),
                              memory))
        ->version();
  };
  const Version version = Index()->version();
  CHECK(version_of("a format", Files(), Records()) == version);
  CHECK(version_of("another", Files(), Records()) != version);
  auto files = Files();
  files[0].version.stamp = 0;
  CHECK(version_of("a format", files, Records()) != version);
  auto records = Records();
  records[0].ends[0] = 21;
  CHECK(version_of("a format", Files(), records) != version);
  // Another revision alone does not change the index's version.
  files = Files();
  files[0].version.revision = {};
  CHECK(version_of("a format", files, Records()) == version);
}

TEST_CASE("A record index treats parts that do not fit as damaged",
          "[records][record_index]") {
  const auto with = [](auto change) {
    RecordIndexParts parts;
    parts.format = "f";
    parts.names = "ab";
    parts.files = {{0, 1, 0, 0, 100, 1, 1, 1}, {1, 1, 2, 5, 50, 1, 1, 1}};
    parts.ends = {20, 100, 30};
    change(parts);
    return RecordIndex::Create(std::move(parts)).status();
  };
  CHECK_THAT(with([](RecordIndexParts&) {}), IsOk());
  const std::vector<void (*)(RecordIndexParts&)> changes = {
      [](RecordIndexParts& p) { p.files.clear(); },
      [](RecordIndexParts& p) { p.files[0].first_record = 1; },
      [](RecordIndexParts& p) { p.files[1].first_record = 4; },
      [](RecordIndexParts& p) { p.files[1].path_length = 2; },
      [](RecordIndexParts& p) { p.files[1].path_offset = UINT64_MAX; },
      [](RecordIndexParts& p) { p.files[1].path_length = 0; },
      [](RecordIndexParts& p) { p.names = std::string(2, '\0'); },
      [](RecordIndexParts& p) { p.ends[0] = 0; },
      [](RecordIndexParts& p) { p.ends[1] = 20; },
      [](RecordIndexParts& p) { p.ends[1] = 101; },
      [](RecordIndexParts& p) { p.ends[2] = 5; },
      [](RecordIndexParts& p) { p.files[1].begin = 30; },
      [](RecordIndexParts& p) { p.files[1].size = 29; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CAPTURE(i);
    CHECK_THAT(with(changes[i]), HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE("A record index takes eight bytes a record",
          "[records][record_index]") {
  std::vector<FileRecords> records(1);
  for (std::uint64_t i = 1; i <= 100'000; ++i) records[0].ends.push_back(i);
  base::WorkingMemory memory(base::AmpleBudget(), "an index");
  const auto index =
      BuildRecordIndex("f", std::vector<ListedObject>{{"a", {100'000, 1}}},
                       std::move(records), memory);
  REQUIRE_THAT(index, IsOk());
  CHECK((*index)->memory() <= 800'000 + 1000);
}

absl::Span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

absl::StatusOr<std::shared_ptr<const RecordIndex>> Decode(
    std::string_view bytes) {
  base::WorkingMemory memory(base::AmpleBudget(), "an index");
  IndexFileReader file(AsBytes(bytes));
  return DecodeRecordIndex(file, memory);
}

TEST_CASE("The record index format gives back what it was given",
          "[records][record_index]") {
  const std::string bytes = EncodeRecordIndex(*Index());
  const auto index = Decode(bytes);
  REQUIRE_THAT(index, IsOk());
  CHECK(EncodeRecordIndex(**index) == bytes);
  CHECK((*index)->version() == Index()->version());
  CHECK((*index)->IsOf(Files()));
  CHECK((*index)->bounds() == Index()->bounds());
}

TEST_CASE("The record index format's layout is as documented",
          "[records][record_index]") {
  const std::string bytes = EncodeRecordIndex(*Index());
  CHECK(bytes.size() == 88 + 3 * 72 + 4 * 8 + 16 + 6 + 8 + 16);
  CHECK(bytes.substr(0, 8) == "FBYRECRD");
  CHECK(bytes.substr(8, 16) ==
        std::string("\3\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 16));
  CHECK(bytes.substr(88 + 3 * 72, 8) == std::string("\x14\0\0\0\0\0\0\0", 8));
  CHECK(bytes.substr(88 + 3 * 72 + 4 * 8 + 16, 14) == "anoneba format");
}

TEST_CASE("The record index format notices every flipped bit",
          "[records][record_index]") {
  const std::string bytes = EncodeRecordIndex(*Index());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    CAPTURE(bit);
    CHECK_THAT(Decode(damaged), HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE("The record index format notices every other length",
          "[records][record_index]") {
  const std::string bytes = EncodeRecordIndex(*Index());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_THAT(Decode(bytes.substr(0, length)),
               HasCode(absl::StatusCode::kDataLoss));
  CHECK_FALSE(Decode(bytes + '\0').ok());
}

}  // namespace
}  // namespace forebay::dataset::records
