#include "server/survey/survey_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/executor/thread_pool_executor.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"
#include "tests/unit/server/survey/fake_clips.h"

namespace forebay::survey {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SurveyCatalogTest : public testing::Test {
 protected:
  std::unique_ptr<SurveyCatalog> Open(const std::string& directory) {
    return std::make_unique<SurveyCatalog>(
        directory, SurveyDeps{.source = &source_,
                              .executor = &executor_,
                              .budget = base::AmpleBudget(),
                              .on_changed = [](const dataset::Dataset&) {}});
  }
  std::shared_ptr<const ValueSizes> Find(
      SurveyCatalog& catalog, const std::shared_ptr<FakeClips>& clips) {
    auto found =
        catalog.Find({.dataset = clips, .field = 1, .job = 1}, &warnings_, {});
    EXPECT_TRUE(found.ok()) << found.status();
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

TEST_F(SurveyCatalogTest, SizesAreSharedWhileSomebodyHasThem) {
  const auto catalog = Open("");
  const auto clips = Clips();
  auto first = Find(*catalog, clips);
  EXPECT_EQ(first->Of(1).size, 6u);
  EXPECT_EQ(Find(*catalog, clips), first);
  EXPECT_EQ(source_.reads, 1u);
  first = nullptr;
  Find(*catalog, clips);
  EXPECT_EQ(source_.reads, 2u);
  EXPECT_THAT(warnings_, ElementsAre());
}

TEST_F(SurveyCatalogTest, TheyAreKeptOnDisk) {
  EXPECT_EQ(Find(*Open(tree_.path()), Clips())->Of(0).size, 5u);
  EXPECT_EQ(Find(*Open(tree_.path()), Clips())->Of(0).size, 5u);
  EXPECT_EQ(source_.reads, 1u);
  // Another file of an equal size and time.
  const auto replaced = Clips();
  replaced->inode = 7;
  Find(*Open(tree_.path()), replaced);
  EXPECT_EQ(source_.reads, 2u);
  EXPECT_THAT(warnings_, ElementsAre());
}

TEST_F(SurveyCatalogTest, WithoutADiskTheyAreInMemory) {
  tree_.Write("file", "");
  const auto catalog = Open(tree_.path() + "/file");
  const auto clips = Clips();
  const auto held = Find(*catalog, clips);
  EXPECT_EQ(Find(*catalog, clips), held);
  EXPECT_THAT(warnings_, testing::Contains(HasSubstr("in memory only")));
}

TEST_F(SurveyCatalogTest, ManyThatWaitGetOneSurvey) {
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
  // One that came when all others had left would measure anew; they are held.
  for (const auto& one : sizes) {
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(one->Of(0).size, 5u);
  }
}

}  // namespace
}  // namespace forebay::survey
