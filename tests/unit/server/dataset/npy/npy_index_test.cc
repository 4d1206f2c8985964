#include "server/dataset/npy/npy_index.h"

#include <cstdint>
#include <string>
#include <vector>

#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::npy {
namespace {

using tests::HasCode;
using tests::IsOk;

using storage::ListedObject;

const ArrayType kType = {proto::DType::kInt16, {3}};

struct File {
  const char* name;
  std::uint64_t rows;
  std::int64_t stamp = 1;
  std::uint64_t offset = 128;
};

absl::StatusOr<std::shared_ptr<const NpyIndex>> Index(
    const std::vector<File>& files, const ArrayType& type = kType,
    base::MemoryBudget* budget = base::AmpleBudget()) {
  base::WorkingMemory memory(budget, "a test");
  std::vector<ListedObject> objects;
  std::vector<FileRows> rows;
  for (const File& file : files) {
    objects.push_back({file.name,
                       {file.offset + file.rows * 6,
                        file.stamp,
                        {.inode = 1, .ctime_nanos = file.stamp}}});
    rows.push_back({file.rows, file.offset});
  }
  return NpyIndex::Create(objects, type, 6, rows, memory);
}

TEST_CASE("An npy index puts the rows of one file after those of the other",
          "[npy][npy_index]") {
  // Files without rows may stand anywhere in the list.
  const auto index = Index({{"none", 0},
                            {"a", 2},
                            {"also none", 0},
                            {"b", 3, 1, 80},
                            {"a", 2},
                            {"nothing", 0}});
  REQUIRE_THAT(index, IsOk());
  REQUIRE((*index)->size() == 7u);
  const std::vector<std::pair<std::string, std::uint64_t>> expected = {
      {"a", 128}, {"a", 134}, {"b", 80}, {"b", 86},
      {"b", 92},  {"a", 128}, {"a", 134}};
  for (std::uint64_t row = 0; row < 7; ++row) {
    const NpyIndex::Extent extent = (*index)->ExtentOf(row);
    CAPTURE(row);
    CHECK((*index)->PathOf(extent.file) == expected[row].first);
    CHECK(extent.offset == expected[row].second);
  }
  CHECK((*index)->ExtentOf(4).row == 2u);
}

TEST_CASE("An npy index's version covers all that its rows depend on",
          "[npy][npy_index]") {
  const auto version = [](const std::vector<File>& files,
                          const ArrayType& type = kType) {
    return (*Index(files, type))->version();
  };
  const Version before = version({{"a", 2}, {"b", 3}});
  CHECK(version({{"a", 2}, {"b", 3}}) == before);
  CHECK(version({{"b", 3}, {"a", 2}}) != before);
  CHECK(version({{"a", 3}, {"b", 2}}) != before);
  CHECK(version({{"a", 2}, {"b", 3, 2}}) != before);
  CHECK(version({{"a", 2}, {"b", 3, 1, 64}}) != before);
  CHECK(version({{"a", 2}, {"b", 3}, {"c", 0}}) != before);
  CHECK(version({{"a", 2}, {"b", 3}}, {proto::DType::kUint16, {3}}) != before);
  CHECK(version({{"a", 2}, {"b", 3}}, {proto::DType::kInt16, {1, 3}}) !=
        before);
}

TEST_CASE("An npy index is of its files in their order and versions",
          "[npy][npy_index]") {
  const auto index = *Index({{"a", 2}, {"b", 3}});
  std::vector<ListedObject> files = {{"a", index->VersionOf(0)},
                                     {"b", index->VersionOf(1)}};
  CHECK(index->IsOf(files));
  std::swap(files[0], files[1]);
  CHECK_FALSE(index->IsOf(files));
  std::swap(files[0], files[1]);
  files[1].version.revision.ctime_nanos = 2;
  CHECK_FALSE(index->IsOf(files));
  files.pop_back();
  CHECK_FALSE(index->IsOf(files));
}

TEST_CASE("An npy index knows a file by its new time if its rows are the same",
          "[npy][npy_index]") {
  const auto index = *Index({{"a", 2}, {"b", 3}});
  const NpyRows rows = {kType, 6, 3, 128};
  CHECK(index->RevisionOf("b") == storage::Revision{1, 1});
  CHECK(index->Accept("b", {1, 5}, rows));
  CHECK(index->RevisionOf("b") == storage::Revision{1, 5});
  CHECK(index->VersionOf(1).revision == storage::Revision{1, 5});
  CHECK(index->RevisionOf("a") == storage::Revision{1, 1});
  CHECK_FALSE(index->Accept("b", {2, 6}, rows));
  CHECK_FALSE(index->Accept("b", {1, 6}, {kType, 6, 2, 128}));
  CHECK_FALSE(index->Accept("b", {1, 6}, {kType, 6, 3, 64}));
  CHECK_FALSE(
      index->Accept("b", {1, 6}, {{proto::DType::kUint16, {3}}, 6, 3, 128}));
  CHECK(index->RevisionOf("b") == storage::Revision{1, 5});
}

TEST_CASE("An npy index that refuses a file changes none of its entries",
          "[npy][npy_index]") {
  // The dataset lists the file "a" twice, with another number of rows each
  // time.
  const auto index = *Index({{"a", 2}, {"a", 3}});
  for (const std::uint64_t rows : {2, 3}) {
    CAPTURE(rows);
    CHECK_FALSE(index->Accept("a", {1, 5}, {kType, 6, rows, 128}));
    CHECK(index->VersionOf(0).revision == storage::Revision{1, 1});
    CHECK(index->VersionOf(1).revision == storage::Revision{1, 1});
  }
}

TEST_CASE("An npy index takes memory for files and none for rows",
          "[npy][npy_index]") {
  constexpr std::uint64_t kRows = 10'000'000;
  base::MemoryBudget budget(1 << 20);
  const auto index = Index({{"a", kRows}, {"b", kRows}}, kType, &budget);
  REQUIRE_THAT(index, IsOk());
  CHECK((*index)->size() == 2 * kRows);
  CHECK((*index)->ExtentOf(2 * kRows - 1).row == kRows - 1);
  CHECK(budget.used() > 0u);
  CHECK(budget.used() < 1000u);
  base::MemoryBudget small(100);
  CHECK_THAT(Index({{"a", kRows}}, kType, &small),
             HasCode(absl::StatusCode::kResourceExhausted));
}

TEST_CASE("An npy index refuses more rows than can be counted",
          "[npy][npy_index]") {
  constexpr std::uint64_t kMany = (std::uint64_t{1} << 62) - 1;
  CHECK_THAT(Index({{"a", kMany}, {"b", 1}}), IsOk());
  const absl::Status status = Index({{"a", kMany}, {"b", 2}}).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
  CHECK(status.message() ==
        "b: up to here there are more than 4611686018427387904 rows");
}

}  // namespace
}  // namespace forebay::dataset::npy
