#include "server/dataset/records/file_classes.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/memory_budget.h"
#include "server/dataset/records/build_record_index.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::records {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const RecordIndex> IndexOf(
    const std::vector<std::string>& paths) {
  base::WorkingMemory memory(base::AmpleBudget(), "an index");
  std::vector<storage::ListedObject> files;
  std::vector<FileRecords> records;
  for (const std::string& path : paths) {
    files.push_back({path, {10, 7}});
    records.push_back({.ends = {10}});
  }
  auto index = BuildRecordIndex("a format", files, std::move(records), memory);
  EXPECT_TRUE(index.ok()) << index.status();
  return *std::move(index);
}

TEST(FileClassesTest, AreFoldersInTheOrderOfTheirNames) {
  const auto classes = FileClasses::Create(
      *IndexOf({"dog/1", "dog/2", "cat/1", "dog-2/1", "dog/sub/1", "Ant/9"}),
      base::AmpleBudget());
  ASSERT_TRUE(classes.ok()) << classes.status();
  EXPECT_THAT(classes->names(), ElementsAre("Ant", "cat", "dog", "dog-2"));
  EXPECT_EQ(classes->LabelOf("dog/1"), 2);
  EXPECT_EQ(classes->LabelOf("dog/sub/1"), 2);
  EXPECT_EQ(classes->LabelOf("dog-2/1"), 3);
  EXPECT_EQ(classes->LabelOf("Ant/9"), 0);
}

TEST(FileClassesTest, AFileInNoFolderIsAnError) {
  const auto classes =
      FileClasses::Create(*IndexOf({"dog/1", "stray"}), base::AmpleBudget());
  EXPECT_TRUE(absl::IsInvalidArgument(classes.status()));
  EXPECT_THAT(classes.status().message(), HasSubstr("stray: lies in no class"));
}

TEST(FileClassesTest, CountTheirMemory) {
  base::MemoryBudget budget(1 << 20);
  std::vector<std::string> paths;
  for (int i = 0; i < 100; ++i)
    paths.push_back(std::string(200, 'a') + std::to_string(i) + "/1");
  const auto index = IndexOf(paths);
  {
    const auto classes = FileClasses::Create(*index, &budget);
    ASSERT_TRUE(classes.ok()) << classes.status();
    EXPECT_GE(budget.used(), 100u * 200);
  }
  EXPECT_EQ(budget.used(), 0u);
  base::MemoryBudget small(10'000);
  EXPECT_TRUE(
      absl::IsResourceExhausted(FileClasses::Create(*index, &small).status()));
}

}  // namespace
}  // namespace forebay::dataset::records
