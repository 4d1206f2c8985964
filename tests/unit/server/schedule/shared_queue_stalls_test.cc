// Tests of items of a shared queue that stall.

#include <cstdint>
#include <vector>

#include "server/schedule/shared_queue.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/schedule/shared_queue_fixture.h"

namespace forebay::schedule {
namespace {

using Queue = SharedQueue<int>;

constexpr std::int64_t kSecond = 1'000'000'000;

TEST_CASE("A stalled item leaves the count in flight until it ends or resumes",
          "[schedule][shared_queue_stalls]") {
  Queue queue;
  queue.Push(1, Same(10), 0, 7);
  queue.Push(1, Same(10), 0, 8);
  const auto first = queue.Pop(0);
  queue.Stall(first->id);
  queue.Stall(first->id);
  CHECK(queue.in_flight() == 0);
  CHECK(queue.stalled() == 1);
  CHECK(queue.size() == 1);
  queue.Resume(first->id);
  queue.Resume(first->id);
  CHECK(queue.in_flight() == 1);
  CHECK(queue.stalled() == 0);
  queue.Stall(first->id);
  queue.Complete(first->id, Same(10), 0);
  CHECK(queue.in_flight() == 0);
  CHECK(queue.stalled() == 0);
  CHECK(Next(queue) == 8);
  CHECK(queue.empty());
}

TEST_CASE("Only items in flight stall in a shared queue",
          "[schedule][shared_queue_stalls]") {
  Queue queue;
  const Queue::Id waiting = queue.Push(1, Same(10), 0, 7);
  queue.Stall(waiting);
  queue.Stall(99);
  queue.Resume(99);
  CHECK(queue.stalled() == 0);
  CHECK(Next(queue) == 7);
}

TEST_CASE("A flow with too many stalled items is passed over",
          "[schedule][shared_queue_stalls]") {
  Queue queue(/*most_stalled=*/2);
  for (int i = 0; i < 3; ++i) queue.Push(1, Same(10), 0, 10 + i);
  for (int i = 0; i < 2; ++i) queue.Push(2, Same(10), 5, 20 + i);
  const auto first = queue.Pop(0);
  CHECK(first->item == 10);
  queue.Stall(first->id);
  CHECK(Next(queue) == 20);
  const auto second = queue.Pop(0);
  CHECK(second->item == 11);
  queue.Stall(second->id);
  CHECK(Next(queue) == 21);
  CHECK(Next(queue) == -1);
  CHECK_FALSE(queue.HasNext());
  CHECK(queue.NextAt() == INT64_MAX);
  CHECK(queue.size() == 1);
  queue.Complete(first->id, Same(10), 0);
  CHECK(Next(queue) == 12);
  queue.Complete(second->id, Same(10), 0);
}

TEST_CASE("A stalled item counts for all flows that want it",
          "[schedule][shared_queue_stalls]") {
  Queue queue(/*most_stalled=*/1);
  const std::uint64_t both[] = {1, 2};
  queue.PushFor(both, Same(10), 0, 7);
  for (const int flow : {1, 2, 3}) queue.Push(flow, Same(10), 9, 10 * flow);
  queue.PushFor(std::vector<std::uint64_t>{1, 3}, Same(10), 9, 13);
  const auto shared = queue.Pop(0);
  CHECK(shared->item == 7);
  queue.Stall(shared->id);
  CHECK(Next(queue) == 30);
  CHECK(Next(queue) == 13);  // on the turn of flow 3
  CHECK(Next(queue) == -1);
  // A stalled item also counts for a flow that joins it later.
  queue.Push(4, Same(10), 9, 40);
  queue.Share(shared->id, 4, 0);
  CHECK(Next(queue) == -1);
  queue.Complete(shared->id, Same(10), 0);
  for (int i = 0; i < 3; ++i) CHECK(Next(queue) != -1);
  CHECK(queue.empty());
}

TEST_CASE("A flow is held by its cap and by its stalled items",
          "[schedule][shared_queue_stalls]") {
  Queue queue(/*most_stalled=*/1);
  queue.SetCap(1, 100, 0);
  for (int i = 0; i < 3; ++i) queue.Push(1, Same(10), 0, 10 + i);
  const auto stalled = queue.Pop(0);
  CHECK(Next(queue) == -1);  // held by its cap
  queue.Stall(stalled->id);
  const std::int64_t at = queue.NextAt();
  CHECK(Next(queue, Same(10), at) == -1);  // held by its stalled item
  queue.Complete(stalled->id, Same(10), at);
  CHECK(Next(queue, Same(10), at + kSecond) == 11);
  CHECK(Next(queue, Same(10), at + 2 * kSecond) == 12);
}

TEST_CASE("A shared queue's owner that ends pops what stalled items held up",
          "[schedule][shared_queue_stalls]") {
  Queue queue(/*most_stalled=*/1);
  queue.Push(1, Same(10), 0, 7);
  queue.Push(1, Same(10), 0, 8);
  const auto stalled = queue.Pop(0);
  queue.Stall(stalled->id);
  CHECK(Next(queue) == -1);
  queue.LiftCaps();
  CHECK(Next(queue) == 8);
  queue.Complete(stalled->id, Same(10), 0);
}

}  // namespace
}  // namespace forebay::schedule
