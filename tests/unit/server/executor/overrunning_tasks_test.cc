// Tests of short tasks that turn out to be long.
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <list>
#include <string>
#include <thread>

#include "server/executor/thread_pool_executor.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/executor/long_tasks_fixture.h"

namespace forebay::executor {
namespace {

TEST_CASE_METHOD(LongTasksTest,
                 "A short task that takes long loses its thread to the others",
                 "[executor][overrunning_tasks]") {
  ThreadPoolExecutor executor(1, options());
  HeldTask slow(executor, 1, kShortOne);
  slow.AwaitStart();
  HeldTask next(executor, 2, kShortOne);
  AwaitLook();
  UNSCOPED_INFO("the first one has taken no CPU time");
  CHECK_FALSE(next.has_started());
  CHECK_FALSE(HasLowPriority(slow));
  cpu_.AdvanceOf(slow.thread(), kOverrunNanos);
  AwaitLook();
  next.AwaitStart();
  CHECK(next.place() != slow.place());
  CHECK(HasLowPriority(slow));
  CHECK_FALSE(HasLowPriority(next));
  CHECK(executor.queued() == 0);
}

TEST_CASE_METHOD(
    LongTasksTest,
    "A short task that takes long keeps its thread from its own flow",
    "[executor][overrunning_tasks]") {
  ThreadPoolExecutor executor(1, options());
  HeldTask slow(executor, 1, kShortOne);
  slow.AwaitStart();
  HeldTask own(executor, 1, kShortOne);
  cpu_.AdvanceOf(slow.thread(), kOverrunNanos);
  LetLooksCome();
  CHECK_FALSE(own.has_started());
  UNSCOPED_INFO("nobody else's task waits");
  CHECK(cpu_.looks() == 0);
  CHECK_FALSE(HasLowPriority(slow));
  HeldTask other(executor, 2, kShortOne);
  AwaitLook();
  other.AwaitStart();
  CHECK(HasLowPriority(slow));
  other.LetGo();
  own.AwaitStart();
}

TEST_CASE_METHOD(LongTasksTest,
                 "Short tasks that the same jobs share hold up nobody else",
                 "[executor][overrunning_tasks]") {
  ThreadPoolExecutor executor(1, options());
  HeldTask slow(executor, {1, 2}, kShortOne);
  slow.AwaitStart();
  HeldTask shared(executor, {2, 1}, kShortOne);
  cpu_.AdvanceOf(slow.thread(), kOverrunNanos);
  LetLooksCome();
  CHECK_FALSE(shared.has_started());
  CHECK(cpu_.looks() == 0);
  HeldTask of_more(executor, {1, 2, 3}, kShortOne);
  AwaitLook();
  of_more.LetGo();
  shared.AwaitStart();
  CHECK(HasLowPriority(slow));
}

// No other thread takes over, because the task's own thread will soon be free.
TEST_CASE_METHOD(LongTasksTest,
                 "A short task that takes a little longer keeps its thread",
                 "[executor][overrunning_tasks]") {
  ThreadPoolExecutor executor(1, options());
  HeldTask slow(executor, 1, kShortOne);
  slow.AwaitStart();
  HeldTask next(executor, 2, kShortOne);
  cpu_.AdvanceOf(slow.thread(), kOverrunNanos - 1);
  AwaitLook();
  CHECK_FALSE(next.has_started());
  CHECK_FALSE(HasLowPriority(slow));
  slow.LetGo();
  next.AwaitStart();
}

TEST_CASE_METHOD(
    LongTasksTest,
    "A short task behind a long one of its flow waits for no other task",
    "[executor][overrunning_tasks]") {
  ThreadPoolExecutor executor(1, options());
  HeldTask slow(executor, 1, kShortOne);
  slow.AwaitStart();
  HeldTask own(executor, 1, kShortOne);
  own.LetGo();
  HeldTask first(executor, 2, kLongOne);
  first.AwaitStart();
  HeldTask second(executor, 2, {.cpu_nanos = 10 * kMilli, .urgency = 0});
  HeldTask behind(executor, 2, {.cpu_nanos = kMilli, .urgency = 1});
  AwaitLook();
  CHECK_FALSE(behind.has_started());
  cpu_.AdvanceOf(slow.thread(), kOverrunNanos);
  first.LetGo();
  second.AwaitStart();
  AwaitStartOf(behind);
  CHECK(HasLowPriority(slow));
}

TEST_CASE_METHOD(
    LongTasksTest,
    "Only a limited number of tasks that turn out long run at once",
    "[executor][overrunning_tasks]") {
  ThreadPoolExecutor executor(1, options());
  std::list<HeldTask> slow;
  for (int i = 0; i < executor.places(); ++i) {
    slow.emplace_back(executor, i, kShortOne);
    AwaitStartOf(slow.back());
    cpu_.AdvanceOf(slow.back().thread(), kOverrunNanos);
  }
  HeldTask next(executor, 8, kShortOne);
  HeldTask long_one(executor, 9, kLongOne);
  for (int i = 0; i < 2; ++i) AwaitLook();
  CHECK_FALSE(next.has_started());
  CHECK_FALSE(long_one.has_started());
  slow.back().LetGo();
  next.AwaitStart();
  for (HeldTask& each : slow) each.LetGo();
  long_one.AwaitStart();
}

std::ptrdiff_t Threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

TEST_CASE_METHOD(LongTasksTest,
                 "Threads whose tasks turn out long end afterwards",
                 "[executor][overrunning_tasks]") {
  ThreadPoolExecutor executor(1, options());
  const std::ptrdiff_t threads = Threads();
  for (int round = 0; round < 20; ++round) {
    HeldTask slow(executor, 1, kShortOne);
    slow.AwaitStart();
    cpu_.AdvanceOf(slow.thread(), kOverrunNanos);
    HeldTask next(executor, 2, kShortOne);
    AwaitLook();
    next.AwaitStart();
    char name[16];
    pthread_getname_np(next.thread(), name, sizeof(name));
    CHECK(std::string(name) == "forebay-cpu-0");
    slow.AwaitEnd();
    next.AwaitEnd();
    RunOne(executor, kLongOne);
  }
  while (Threads() > threads) std::this_thread::yield();
}

}  // namespace
}  // namespace forebay::executor
