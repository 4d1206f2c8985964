#include "server/dataset/records/file_classes.h"

#include <string>
#include <vector>

#include "server/base/memory_budget.h"
#include "server/dataset/records/build_record_index.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::records {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsOk;

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
  CHECK_THAT(index, IsOk());
  return *std::move(index);
}

TEST_CASE("File classes are folders in the order of their names",
          "[records][file_classes]") {
  const auto classes = FileClasses::Create(
      *IndexOf({"dog/1", "dog/2", "cat/1", "dog-2/1", "dog/sub/1", "Ant/9"}),
      base::AmpleBudget());
  REQUIRE_THAT(classes, IsOk());
  CHECK_THAT(classes->names(), ElementsAre("Ant", "cat", "dog", "dog-2"));
  CHECK(classes->LabelOf("dog/1") == 2);
  CHECK(classes->LabelOf("dog/sub/1") == 2);
  CHECK(classes->LabelOf("dog-2/1") == 3);
  CHECK(classes->LabelOf("Ant/9") == 0);
}

TEST_CASE("File classes cannot be made with a file that is in no folder",
          "[records][file_classes]") {
  const auto classes =
      FileClasses::Create(*IndexOf({"dog/1", "stray"}), base::AmpleBudget());
  CHECK_THAT(classes, HasCode(absl::StatusCode::kInvalidArgument));
  CHECK_THAT(classes.status().message(), Contains("stray: lies in no class"));
}

TEST_CASE("File classes count their memory", "[records][file_classes]") {
  base::MemoryBudget budget(1 << 20);
  std::vector<std::string> paths;
  for (int i = 0; i < 100; ++i)
    paths.push_back(std::string(200, 'a') + std::to_string(i) + "/1");
  const auto index = IndexOf(paths);
  {
    const auto classes = FileClasses::Create(*index, &budget);
    REQUIRE_THAT(classes, IsOk());
    CHECK(budget.used() >= 100u * 200);
  }
  CHECK(budget.used() == 0u);
  base::MemoryBudget small(10'000);
  CHECK_THAT(FileClasses::Create(*index, &small),
             HasCode(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace forebay::dataset::records
