#include "server/executor/short_tasks.h"

#include <gtest/gtest.h>

#include <vector>

namespace forebay::executor {
namespace {

FlowSet Set(const std::vector<schedule::Flow>& flows) {
  return FlowSetOf(flows);
}

TEST(ShortTasksTest, ASetHasItsFlowsInOrder) {
  EXPECT_EQ(Set({7, 2, 5}), (FlowSet{2, 5, 7}));
  EXPECT_EQ(Set({7, 2}), Set({2, 7}));
}

TEST(ShortTasksTest, ATaskIsAnothersIfOneOfItsFlowsDoesNotPay) {
  EXPECT_FALSE(HasOther(Set({1}), Set({1})));
  EXPECT_FALSE(HasOther(Set({1}), Set({1, 2})));
  EXPECT_FALSE(HasOther(Set({2, 1}), Set({1, 2})));
  EXPECT_TRUE(HasOther(Set({1, 2}), Set({1})));
  EXPECT_TRUE(HasOther(Set({3}), Set({1, 2})));
}

TEST(ShortTasksTest, WorkOfNobodyIsAlwaysAnothers) {
  const FlowSet nobody = Set({schedule::kNobody});
  EXPECT_TRUE(HasOther(nobody, nobody));
  EXPECT_TRUE(HasOther(nobody, Set({1})));
  EXPECT_TRUE(HasOther(Set({1}), nobody));
  ShortTasks tasks;
  tasks.Add(nobody);
  EXPECT_TRUE(tasks.MixFlows());
}

TEST(ShortTasksTest, TasksOfTheSameFlowsHoldUpNobodyElse) {
  ShortTasks tasks;
  EXPECT_FALSE(tasks.MixFlows());
  for (int i = 0; i < 3; ++i) tasks.Add(Set({1, 2}));
  EXPECT_FALSE(tasks.MixFlows());
  tasks.Add(Set({2}));
  EXPECT_TRUE(tasks.MixFlows());
  tasks.Remove(Set({2}));
  EXPECT_FALSE(tasks.MixFlows());
  for (int i = 0; i < 3; ++i) tasks.Remove(Set({2, 1}));
  EXPECT_FALSE(tasks.MixFlows());
}

}  // namespace
}  // namespace forebay::executor
