#include "server/dataset/npy/npy_index.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::npy {
namespace {

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

TEST(NpyIndexTest, RowsOfOneFileFollowThoseOfTheOther) {
  // Files without rows stand anywhere.
  const auto index = Index({{"none", 0},
                            {"a", 2},
                            {"also none", 0},
                            {"b", 3, 1, 80},
                            {"a", 2},
                            {"nothing", 0}});
  ASSERT_TRUE(index.ok()) << index.status();
  ASSERT_EQ((*index)->size(), 7u);
  const std::vector<std::pair<std::string, std::uint64_t>> expected = {
      {"a", 128}, {"a", 134}, {"b", 80}, {"b", 86},
      {"b", 92},  {"a", 128}, {"a", 134}};
  for (std::uint64_t row = 0; row < 7; ++row) {
    const NpyIndex::Extent extent = (*index)->ExtentOf(row);
    EXPECT_EQ((*index)->PathOf(extent.file), expected[row].first) << row;
    EXPECT_EQ(extent.offset, expected[row].second) << row;
  }
  EXPECT_EQ((*index)->ExtentOf(4).row, 2u);
}

TEST(NpyIndexTest, TheVersionIsAllThatRowsDependOn) {
  const auto version = [](const std::vector<File>& files,
                          const ArrayType& type = kType) {
    return (*Index(files, type))->version();
  };
  const Version before = version({{"a", 2}, {"b", 3}});
  EXPECT_EQ(version({{"a", 2}, {"b", 3}}), before);
  EXPECT_NE(version({{"b", 3}, {"a", 2}}), before);
  EXPECT_NE(version({{"a", 3}, {"b", 2}}), before);
  EXPECT_NE(version({{"a", 2}, {"b", 3, 2}}), before);
  EXPECT_NE(version({{"a", 2}, {"b", 3, 1, 64}}), before);
  EXPECT_NE(version({{"a", 2}, {"b", 3}, {"c", 0}}), before);
  EXPECT_NE(version({{"a", 2}, {"b", 3}}, {proto::DType::kUint16, {3}}),
            before);
  EXPECT_NE(version({{"a", 2}, {"b", 3}}, {proto::DType::kInt16, {1, 3}}),
            before);
}

TEST(NpyIndexTest, IsOfItsFilesInTheirOrderAndVersions) {
  const auto index = *Index({{"a", 2}, {"b", 3}});
  std::vector<ListedObject> files = {{"a", index->VersionOf(0)},
                                     {"b", index->VersionOf(1)}};
  EXPECT_TRUE(index->IsOf(files));
  std::swap(files[0], files[1]);
  EXPECT_FALSE(index->IsOf(files));
  std::swap(files[0], files[1]);
  files[1].version.revision.ctime_nanos = 2;
  EXPECT_FALSE(index->IsOf(files));
  files.pop_back();
  EXPECT_FALSE(index->IsOf(files));
}

TEST(NpyIndexTest, KnowsAFileByItsNewTimeIfItsRowsAreTheSame) {
  const auto index = *Index({{"a", 2}, {"b", 3}});
  const NpyRows rows = {kType, 6, 3, 128};
  EXPECT_EQ(index->RevisionOf("b"), (storage::Revision{1, 1}));
  EXPECT_TRUE(index->Accept("b", {1, 5}, rows));
  EXPECT_EQ(index->RevisionOf("b"), (storage::Revision{1, 5}));
  EXPECT_EQ(index->VersionOf(1).revision, (storage::Revision{1, 5}));
  EXPECT_EQ(index->RevisionOf("a"), (storage::Revision{1, 1}));
  EXPECT_FALSE(index->Accept("b", {2, 6}, rows));
  EXPECT_FALSE(index->Accept("b", {1, 6}, {kType, 6, 2, 128}));
  EXPECT_FALSE(index->Accept("b", {1, 6}, {kType, 6, 3, 64}));
  EXPECT_FALSE(
      index->Accept("b", {1, 6}, {{proto::DType::kUint16, {3}}, 6, 3, 128}));
  EXPECT_EQ(index->RevisionOf("b"), (storage::Revision{1, 5}));
}

TEST(NpyIndexTest, TakesMemoryForFilesAndNoneForRows) {
  constexpr std::uint64_t kRows = 10'000'000;
  base::MemoryBudget budget(1 << 20);
  const auto index = Index({{"a", kRows}, {"b", kRows}}, kType, &budget);
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ((*index)->size(), 2 * kRows);
  EXPECT_EQ((*index)->ExtentOf(2 * kRows - 1).row, kRows - 1);
  EXPECT_GT(budget.used(), 0u);
  EXPECT_LT(budget.used(), 1000u);
  base::MemoryBudget small(100);
  EXPECT_EQ(Index({{"a", kRows}}, kType, &small).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(NpyIndexTest, RefusesMoreRowsThanCanBeCounted) {
  constexpr std::uint64_t kMany = (std::uint64_t{1} << 62) - 1;
  EXPECT_TRUE(Index({{"a", kMany}, {"b", 1}}).ok());
  const absl::Status status = Index({{"a", kMany}, {"b", 2}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "b: up to here there are more than 4611686018427387904 rows");
}

}  // namespace
}  // namespace forebay::dataset::npy
