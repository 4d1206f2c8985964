#include "server/stream/sample_tasks.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>

#include "server/stream/batch.h"
#include "server/stream/member_set.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

class SampleTasksTest : public testing::Test {
 protected:
  SampleTasksTest() {
    batch_.charged = {1};
    batch_.samples.resize(4);
    for (PendingSample& pending : batch_.samples) pending.batch = &batch_;
  }

  void Add(std::size_t index) {
    tasks_.Add({.pending = &batch_.samples[index], .bytes = {}, .status = {}});
  }

  const StreamSpec spec_ = FakeStreamSpec(1000, 10);
  const MemberSet members_{
      spec_.batch, {.next_use_registry = nullptr, .dataset = spec_.dataset}};
  Batch batch_;
  SampleTasks tasks_{/*workers=*/2, nullptr, /*has_lanes=*/false, &members_,
                     nullptr};
};

TEST_F(SampleTasksTest, OneTaskIsUnderWayUntilASampleWasMeasured) {
  Add(0);
  Add(1);
  const std::optional<SampleTask> first = tasks_.Next({1});
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(first->demand.is_long());
  EXPECT_EQ(tasks_.Take(*first).size(), 1);
  Add(2);
  EXPECT_FALSE(tasks_.Next({1}).has_value()) << "the first is under way";
  // A task may end without a measured sample.
  tasks_.EndGuessed({1});
  EXPECT_TRUE(tasks_.Next({1}).has_value());
}

TEST_F(SampleTasksTest, MoreAreOnceItWas) {
  Add(0);
  Add(1);
  const std::optional<SampleTask> first = tasks_.Next({1});
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(tasks_.Take(*first).size(), 1);
  tasks_.cost().Measured(50'000'000);
  const std::optional<SampleTask> second = tasks_.Next({1});
  ASSERT_TRUE(second.has_value());
  EXPECT_TRUE(second->demand.is_long());
}

}  // namespace
}  // namespace forebay::stream
