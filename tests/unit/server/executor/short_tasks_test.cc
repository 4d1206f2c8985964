#include "server/executor/short_tasks.h"

#include <vector>

#include "tests/catch/catch.h"

namespace forebay::executor {
namespace {

FlowSet Set(const std::vector<schedule::Flow>& flows) {
  return FlowSetOf(flows);
}

TEST_CASE("A task's set of flows is in ascending order",
          "[executor][short_tasks]") {
  CHECK(Set({7, 2, 5}) == FlowSet{2, 5, 7});
  CHECK(Set({7, 2}) == Set({2, 7}));
}

TEST_CASE(
    "A waiting task is another's if one of its flows does not pay for the "
    "running one",
    "[executor][short_tasks]") {
  CHECK_FALSE(HasOther(Set({1}), Set({1})));
  CHECK_FALSE(HasOther(Set({1}), Set({1, 2})));
  CHECK_FALSE(HasOther(Set({2, 1}), Set({1, 2})));
  CHECK(HasOther(Set({1, 2}), Set({1})));
  CHECK(HasOther(Set({3}), Set({1, 2})));
}

TEST_CASE("A task of nobody is always another's", "[executor][short_tasks]") {
  const FlowSet nobody = Set({schedule::kNobody});
  CHECK(HasOther(nobody, nobody));
  CHECK(HasOther(nobody, Set({1})));
  CHECK(HasOther(Set({1}), nobody));
  ShortTasks tasks;
  tasks.Add(nobody);
  CHECK(tasks.MixFlows());
}

TEST_CASE("Short tasks of the same flows mix no flows",
          "[executor][short_tasks]") {
  ShortTasks tasks;
  CHECK_FALSE(tasks.MixFlows());
  for (int i = 0; i < 3; ++i) tasks.Add(Set({1, 2}));
  CHECK_FALSE(tasks.MixFlows());
  tasks.Add(Set({2}));
  CHECK(tasks.MixFlows());
  tasks.Remove(Set({2}));
  CHECK_FALSE(tasks.MixFlows());
  for (int i = 0; i < 3; ++i) tasks.Remove(Set({2, 1}));
  CHECK_FALSE(tasks.MixFlows());
}

}  // namespace
}  // namespace forebay::executor
