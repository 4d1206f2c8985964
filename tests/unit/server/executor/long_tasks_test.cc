// Tests of long tasks beside short ones.
#include <atomic>
#include <latch>
#include <thread>

#include "server/executor/thread_pool_executor.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/executor/long_tasks_fixture.h"

namespace forebay::executor {
namespace {

TEST_CASE_METHOD(LongTasksTest,
                 "A short task starts while long ones run on all CPUs",
                 "[executor][long_tasks]") {
  ThreadPoolExecutor executor(2, options());
  HeldTask first(executor, 1, kLongOne);
  HeldTask second(executor, 1, kLongOne);
  HeldTask third(executor, 1, kLongOne);
  first.AwaitStart();
  second.AwaitStart();
  for (int i = 0; i < 100; ++i) RunOne(executor, kShortOne);
  UNSCOPED_INFO("more long tasks than CPUs");
  CHECK_FALSE(third.has_started());
  CHECK(executor.queued() == 1);
  CHECK(executor.busy() == 2);
  first.LetGo();
  third.AwaitStart();
}

TEST_CASE_METHOD(LongTasksTest,
                 "A task that says that it may be long is treated as long",
                 "[executor][long_tasks]") {
  ThreadPoolExecutor executor(1, options());
  constexpr Demand kMayBe = {.cpu_nanos = 1, .may_be_long = true};
  HeldTask first(executor, 1, kMayBe);
  HeldTask second(executor, 2, kMayBe);
  first.AwaitStart();
  RunOne(executor, kShortOne);
  CHECK_FALSE(second.has_started());
}

TEST_CASE_METHOD(
    LongTasksTest,
    "Short tasks overtake a waiting long one by no more than its cost",
    "[executor][long_tasks]") {
  ThreadPoolExecutor executor(1, options());
  HeldTask running(executor, 7, kLongOne);
  HeldTask gate(executor, 7, kShortOne);
  running.AwaitStart();
  gate.AwaitStart();
  HeldTask waiting(executor, 1, kLongOne);
  constexpr int kShortTasks = 1000;
  std::atomic<int> ran{0};
  std::latch done(kShortTasks);
  for (int i = 0; i < kShortTasks; ++i) {
    executor.Submit(0, kShortOne, [&](int) {
      cpu_.Advance(kMilli);
      ++ran;
      done.count_down();
    });
  }
  gate.LetGo();
  const int cost = static_cast<int>(kLongOne.cpu_nanos / kMilli);
  while (ran < cost) std::this_thread::yield();
  // If short tasks ran beyond the cost, they would have run by now.
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  CHECK(ran <= cost + 2);
  CHECK_FALSE(waiting.has_started());
  running.LetGo();
  waiting.AwaitStart();
  done.wait();
}

TEST_CASE_METHOD(LongTasksTest,
                 "Long tasks have a low priority while short ones run",
                 "[executor][long_tasks]") {
  ThreadPoolExecutor executor(1, options());
  HeldTask alone(executor, 1, kLongOne);
  alone.AwaitStart();
  CHECK_FALSE(HasLowPriority(alone));
  {
    HeldTask beside(executor, 2, kShortOne);
    beside.AwaitStart();
    CHECK(HasLowPriority(alone));
    CHECK_FALSE(HasLowPriority(beside));
    beside.AwaitEnd();
  }
  alone.AwaitEnd();
  // The latest short task came less than a second ago.
  HeldTask soon(executor, 1, kLongOne);
  soon.AwaitStart();
  CHECK(HasLowPriority(soon));
  clock_.Advance(2 * kSecond);
  soon.AwaitEnd();
  HeldTask later(executor, 1, kLongOne);
  later.AwaitStart();
  CHECK_FALSE(HasLowPriority(later));
}

TEST_CASE_METHOD(LongTasksTest,
                 "Long tasks keep their priority where CPUs are free",
                 "[executor][long_tasks]") {
  ThreadPoolExecutor executor(2, options());
  HeldTask one(executor, 1, kLongOne);
  one.AwaitStart();
  RunOne(executor, kShortOne);
  CHECK_FALSE(HasLowPriority(one));
}

// A long task that waits for a thread hides the later tasks of its flow. When
// it starts, threads look for these tasks.
TEST_CASE_METHOD(LongTasksTest,
                 "Tasks behind a long one of their flow start after it",
                 "[executor][long_tasks]") {
  ThreadPoolExecutor executor(1, options());
  HeldTask first(executor, 1, kLongOne);
  first.AwaitStart();
  HeldTask second(executor, 2, {.cpu_nanos = 10 * kMilli, .urgency = 0});
  HeldTask behind(executor, 2, {.cpu_nanos = kMilli, .urgency = 1});
  RunOne(executor, kShortOne);
  CHECK_FALSE(behind.has_started());
  first.LetGo();
  second.AwaitStart();
  behind.AwaitStart();
}

TEST_CASE_METHOD(LongTasksTest,
                 "The executor stops while tasks of all kinds run and wait",
                 "[executor][long_tasks]") {
  for (int round = 0; round < 20; ++round) {
    ThreadPoolExecutor executor(1, options());
    HeldTask slow(executor, 1, kShortOne);
    slow.AwaitStart();
    cpu_.AdvanceOf(slow.thread(), kOverrunNanos);
    HeldTask next(executor, 2, kShortOne);
    AwaitLook();
    next.AwaitStart();
    const auto held = std::make_shared<int>();
    for (int i = 0; i < 10; ++i) {
      for (const Demand& demand : {kShortOne, kLongOne})
        executor.Submit(3, demand, [held](int) {});
    }
    std::jthread stopper([&] { executor.Stop(); });
    slow.LetGo();
    next.LetGo();
    stopper.join();
    CHECK(held.use_count() == 1);
    CHECK(executor.busy() == 0);
  }
}

}  // namespace
}  // namespace forebay::executor