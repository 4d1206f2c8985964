#include "server/length_scan/length_scan_catalog.h"

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/executor/thread_pool_executor.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"
#include "tests/unit/server/length_scan/fake_clips.h"

namespace forebay::length_scan {
namespace {

using tests::Contains;
using tests::IsEmpty;
using tests::IsOk;

class LengthScanCatalogTest {
 protected:
  std::unique_ptr<LengthScanCatalog> Open(const std::string& directory) {
    return std::make_unique<LengthScanCatalog>(
        directory,
        LengthScanDeps{.source = &source_,
                       .executor = &executor_,
                       .budget = base::AmpleBudget(),
                       .on_changed = [](const dataset::Dataset&) {}});
  }
  std::shared_ptr<const ValueSizes> Find(
      LengthScanCatalog& catalog, const std::shared_ptr<FakeClips>& clips) {
    auto found =
        catalog.Find({.dataset = clips, .field = 1, .job = 1}, &warnings_, {});
    CHECK_THAT(found, IsOk());
    return found.ok() ? *found : nullptr;
  }
  static std::shared_ptr<FakeClips> Clips() {
    return std::make_shared<FakeClips>(
        std::vector<std::string>{WavFile(5, 8000), WavFile(6, 8000)});
  }

  dataset::ScratchTree tree_;
  std::vector<std::string> warnings_;
  ClipSource source_{Clips()->object()};
  executor::ThreadPoolExecutor executor_{2};
};

TEST_CASE_METHOD(LengthScanCatalogTest,
                 "Value sizes are shared while somebody has them",
                 "[length_scan][length_scan_catalog]") {
  const auto catalog = Open("");
  const auto clips = Clips();
  auto first = Find(*catalog, clips);
  CHECK(first->Of(1).size == 6u);
  CHECK(Find(*catalog, clips) == first);
  CHECK(source_.reads == 1u);
  first = nullptr;
  Find(*catalog, clips);
  CHECK(source_.reads == 2u);
  CHECK_THAT(warnings_, IsEmpty());
}

TEST_CASE_METHOD(LengthScanCatalogTest, "Value sizes are kept on disk",
                 "[length_scan][length_scan_catalog]") {
  CHECK(Find(*Open(tree_.path()), Clips())->Of(0).size == 5u);
  CHECK(Find(*Open(tree_.path()), Clips())->Of(0).size == 5u);
  CHECK(source_.reads == 1u);
  // A file of equal size and modification time with another inode is measured
  // anew.
  const auto replaced = Clips();
  replaced->inode = 7;
  Find(*Open(tree_.path()), replaced);
  CHECK(source_.reads == 2u);
  CHECK_THAT(warnings_, IsEmpty());
}

TEST_CASE_METHOD(LengthScanCatalogTest,
                 "Value sizes are kept in memory without a disk",
                 "[length_scan][length_scan_catalog]") {
  tree_.Write("file", "");
  const auto catalog = Open(tree_.path() + "/file");
  const auto clips = Clips();
  const auto held = Find(*catalog, clips);
  CHECK(Find(*catalog, clips) == held);
  CHECK_THAT(warnings_, Contains(Contains("in memory only")));
}

TEST_CASE_METHOD(LengthScanCatalogTest,
                 "Many requests that wait for value sizes get one length scan",
                 "[length_scan][length_scan_catalog]") {
  source_.holds = true;
  const auto catalog = Open("");
  const auto clips = Clips();
  std::vector<std::future<std::shared_ptr<const ValueSizes>>> found;
  for (int i = 0; i < 4; ++i) {
    found.push_back(std::async(std::launch::async, [&] {
      std::vector<std::string> warnings;
      auto sizes = catalog->Find({.dataset = clips, .field = 1, .job = 1},
                                 &warnings, {});
      return sizes.ok() ? *sizes : nullptr;
    }));
  }
  while (source_.held() == 0) std::this_thread::yield();
  source_.holds = false;
  source_.LetGo();
  std::vector<std::shared_ptr<const ValueSizes>> sizes;
  for (auto& one : found) sizes.push_back(one.get());
  // The test holds all results. If all callers had released theirs, a later
  // call would measure anew.
  for (const auto& one : sizes) {
    REQUIRE(one != nullptr);
    CHECK(one->Of(0).size == 5u);
  }
}

}  // namespace
}  // namespace forebay::length_scan
