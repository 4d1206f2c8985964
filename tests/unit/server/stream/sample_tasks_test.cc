#include "server/stream/sample_tasks.h"

#include <cstddef>
#include <optional>

#include "server/stream/batch.h"
#include "server/stream/member_set.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

class SampleTasksTest {
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
  SampleTasks tasks_{/*places=*/2, nullptr, /*has_affinity=*/false, &members_,
                     nullptr};
};

TEST_CASE_METHOD(SampleTasksTest,
                 "A single task is under way until a sample was measured",
                 "[stream][sample_tasks]") {
  Add(0);
  Add(1);
  const std::optional<SampleTask> first = tasks_.Next({1});
  REQUIRE(first.has_value());
  CHECK_FALSE(first->demand.is_long());
  CHECK(tasks_.Take(*first).size() == 1);
  Add(2);
  UNSCOPED_INFO("the first is under way");
  CHECK_FALSE(tasks_.Next({1}).has_value());
  // A task may end although none of its samples was measured.
  tasks_.EndGuessed({1});
  CHECK(tasks_.Next({1}).has_value());
}

TEST_CASE_METHOD(SampleTasksTest,
                 "More tasks are under way once a sample was measured",
                 "[stream][sample_tasks]") {
  Add(0);
  Add(1);
  const std::optional<SampleTask> first = tasks_.Next({1});
  REQUIRE(first.has_value());
  CHECK(tasks_.Take(*first).size() == 1);
  tasks_.cost().Measured(50'000'000);
  const std::optional<SampleTask> second = tasks_.Next({1});
  REQUIRE(second.has_value());
  CHECK(second->demand.is_long());
}

}  // namespace
}  // namespace forebay::stream
