// Long tasks beside short ones. Time and CPU time pass as the tests say.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <latch>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "server/base/clock.h"
#include "server/executor/thread_pool_executor.h"
#include "tests/unit/server/executor/fake_cpu_clock.h"

namespace forebay::executor {
namespace {

constexpr std::int64_t kMilli = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr Demand kShortOne = {.cpu_nanos = kMilli};
constexpr Demand kLongOne = {.cpu_nanos = 10 * kMilli};

// A task that runs until it is let go.
class HeldTask {
 public:
  HeldTask(ThreadPoolExecutor& executor, schedule::Flow flow,
           const Demand& demand)
      : HeldTask(executor, std::vector{flow}, demand) {}
  HeldTask(ThreadPoolExecutor& executor,
           const std::vector<schedule::Flow>& flows, const Demand& demand) {
    executor.SubmitFor(flows, demand, [state = state_](int worker) {
      state->worker = worker;
      state->id = gettid();
      state->thread = pthread_self();
      state->started.count_down();
      state->go.wait();
      state->ended.count_down();
    });
  }
  ~HeldTask() { LetGo(); }

  void LetGo() {
    if (!state_->go.try_wait()) state_->go.count_down();
  }
  void AwaitEnd() {
    LetGo();
    state_->ended.wait();
  }
  HeldTask& AwaitStart() {
    state_->started.wait();
    return *this;
  }
  bool has_started() const { return state_->started.try_wait(); }
  int worker() const { return state_->worker; }
  pthread_t thread() const { return state_->thread; }
  pid_t id() const { return state_->id; }

 private:
  struct State {
    std::latch started{1};
    std::latch go{1};
    std::latch ended{1};
    int worker = -1;
    pid_t id = 0;
    pthread_t thread = {};
  };

  // A task that never starts may outlive this.
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

class LongTasksTest : public testing::Test {
 protected:
  ThreadPoolExecutorOptions options() {
    return {.clock = &clock_,
            .cpu_clock = &cpu_,
            .lower_priority = [this](pid_t thread) {
              const std::lock_guard lock(mutex_);
              lowered_.insert(thread);
            }};
  }
  // Whether the task's thread has a low priority.
  bool HasLowPriority(const HeldTask& task) {
    const std::lock_guard lock(mutex_);
    return lowered_.contains(task.id());
  }
  // Returns once somebody looks what CPU time the running tasks have taken, at
  // a time that lets it look again.
  void AwaitLook() {
    const int before = cpu_.looks();
    while (cpu_.looks() == before) {
      clock_.Advance(kLongTaskNanos);
      std::this_thread::yield();
    }
  }
  // Returns once the task has started, for which others may have to turn out to
  // be long.
  void AwaitStartOf(const HeldTask& task) {
    while (!task.has_started()) {
      clock_.Advance(kLongTaskNanos);
      std::this_thread::yield();
    }
  }
  void RunOne(ThreadPoolExecutor& executor, const Demand& demand) {
    std::latch done(1);
    executor.Submit(9, demand, [&](int) { done.count_down(); });
    done.wait();
  }

  base::FakeClock clock_;
  FakeCpuClock cpu_;

 private:
  std::mutex mutex_;
  std::set<pid_t> lowered_;
};

TEST_F(LongTasksTest, AShortTaskStartsWhileLongOnesRunOnAllCpus) {
  ThreadPoolExecutor executor(2, options());
  HeldTask first(executor, 1, kLongOne);
  HeldTask second(executor, 1, kLongOne);
  HeldTask third(executor, 1, kLongOne);
  first.AwaitStart();
  second.AwaitStart();
  for (int i = 0; i < 100; ++i) RunOne(executor, kShortOne);
  EXPECT_FALSE(third.has_started()) << "more long tasks than CPUs";
  EXPECT_EQ(executor.queued(), 1);
  EXPECT_EQ(executor.busy(), 2);
  first.LetGo();
  third.AwaitStart();
}

TEST_F(LongTasksTest, ATaskThatSaysThatItMayBeLongIs) {
  ThreadPoolExecutor executor(1, options());
  constexpr Demand kMayBe = {.cpu_nanos = 1, .may_be_long = true};
  HeldTask first(executor, 1, kMayBe);
  HeldTask second(executor, 2, kMayBe);
  first.AwaitStart();
  RunOne(executor, kShortOne);
  EXPECT_FALSE(second.has_started());
}

TEST_F(LongTasksTest, ShortTasksOvertakeALongOneThatWaitsByItsCost) {
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
  // Those that run beyond that would by now.
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  EXPECT_LE(ran, cost + 2);
  EXPECT_FALSE(waiting.has_started());
  running.LetGo();
  waiting.AwaitStart();
  done.wait();
}

TEST_F(LongTasksTest, AShortTaskThatTakesLongLosesItsThreadToTheOthers) {
  ThreadPoolExecutor executor(1, options());
  HeldTask slow(executor, 1, kShortOne);
  slow.AwaitStart();
  HeldTask next(executor, 2, kShortOne);
  AwaitLook();
  EXPECT_FALSE(next.has_started()) << "the first one has taken no CPU time";
  EXPECT_FALSE(HasLowPriority(slow));
  cpu_.AdvanceOf(slow.thread(), kOverrunNanos);
  AwaitLook();
  next.AwaitStart();
  EXPECT_NE(next.worker(), slow.worker());
  EXPECT_TRUE(HasLowPriority(slow));
  EXPECT_FALSE(HasLowPriority(next));
  EXPECT_EQ(executor.queued(), 0);
}

TEST_F(LongTasksTest, AShortTaskThatTakesLongKeepsItsThreadFromItsOwnFlow) {
  ThreadPoolExecutor executor(1, options());
  HeldTask slow(executor, 1, kShortOne);
  slow.AwaitStart();
  HeldTask own(executor, 1, kShortOne);
  cpu_.AdvanceOf(slow.thread(), kOverrunNanos);
  // A thread that looked would have by then.
  for (int i = 0; i < 10'000; ++i) {
    clock_.Advance(kLongTaskNanos);
    std::this_thread::yield();
  }
  EXPECT_FALSE(own.has_started());
  EXPECT_EQ(cpu_.looks(), 0) << "nobody else's task waits";
  EXPECT_FALSE(HasLowPriority(slow));
  HeldTask other(executor, 2, kShortOne);
  AwaitLook();
  other.AwaitStart();
  EXPECT_TRUE(HasLowPriority(slow));
  other.LetGo();
  own.AwaitStart();
}

TEST_F(LongTasksTest, TasksThatTheSameJobsShareHoldUpNobodyElse) {
  ThreadPoolExecutor executor(1, options());
  HeldTask slow(executor, {1, 2}, kShortOne);
  slow.AwaitStart();
  HeldTask shared(executor, {2, 1}, kShortOne);
  cpu_.AdvanceOf(slow.thread(), kOverrunNanos);
  for (int i = 0; i < 10'000; ++i) {
    clock_.Advance(kOverrunNanos);
    std::this_thread::yield();
  }
  EXPECT_FALSE(shared.has_started());
  EXPECT_EQ(cpu_.looks(), 0);
  HeldTask of_more(executor, {1, 2, 3}, kShortOne);
  AwaitLook();
  of_more.LetGo();
  shared.AwaitStart();
  EXPECT_TRUE(HasLowPriority(slow));
}

// Its thread is free soon without that.
TEST_F(LongTasksTest, AShortTaskThatTakesLittleLongerKeepsItsThread) {
  ThreadPoolExecutor executor(1, options());
  HeldTask slow(executor, 1, kShortOne);
  slow.AwaitStart();
  HeldTask next(executor, 2, kShortOne);
  cpu_.AdvanceOf(slow.thread(), kOverrunNanos - 1);
  AwaitLook();
  EXPECT_FALSE(next.has_started());
  EXPECT_FALSE(HasLowPriority(slow));
  slow.LetGo();
  next.AwaitStart();
}

TEST_F(LongTasksTest, AShortTaskBehindALongOneOfItsFlowIsHeldUpByNoOther) {
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
  EXPECT_FALSE(behind.has_started());
  cpu_.AdvanceOf(slow.thread(), kOverrunNanos);
  first.LetGo();
  second.AwaitStart();
  AwaitStartOf(behind);
  EXPECT_TRUE(HasLowPriority(slow));
}

TEST_F(LongTasksTest, OnlySoManyTasksThatTurnOutLongRunAtOnce) {
  ThreadPoolExecutor executor(1, options());
  std::list<HeldTask> slow;
  for (int i = 0; i < executor.workers(); ++i) {
    slow.emplace_back(executor, i, kShortOne);
    AwaitStartOf(slow.back());
    cpu_.AdvanceOf(slow.back().thread(), kOverrunNanos);
  }
  HeldTask next(executor, 8, kShortOne);
  HeldTask long_one(executor, 9, kLongOne);
  for (int i = 0; i < 2; ++i) AwaitLook();
  EXPECT_FALSE(next.has_started());
  EXPECT_FALSE(long_one.has_started());
  slow.back().LetGo();
  next.AwaitStart();
  for (HeldTask& each : slow) each.LetGo();
  long_one.AwaitStart();
}

std::ptrdiff_t Threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

TEST_F(LongTasksTest, ThreadsWhoseTasksTurnOutLongEndAfterwards) {
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
    EXPECT_EQ(std::string(name), "forebay-cpu-0");
    slow.AwaitEnd();
    next.AwaitEnd();
    RunOne(executor, kLongOne);
  }
  while (Threads() > threads) std::this_thread::yield();
}

TEST_F(LongTasksTest, LongTasksHaveALowPriorityWhileShortOnesRun) {
  ThreadPoolExecutor executor(1, options());
  HeldTask alone(executor, 1, kLongOne);
  alone.AwaitStart();
  EXPECT_FALSE(HasLowPriority(alone));
  {
    HeldTask beside(executor, 2, kShortOne);
    beside.AwaitStart();
    EXPECT_TRUE(HasLowPriority(alone));
    EXPECT_FALSE(HasLowPriority(beside));
    beside.AwaitEnd();
  }
  alone.AwaitEnd();
  // No short task has come for less than a second.
  HeldTask soon(executor, 1, kLongOne);
  soon.AwaitStart();
  EXPECT_TRUE(HasLowPriority(soon));
  clock_.Advance(2 * kSecond);
  soon.AwaitEnd();
  HeldTask later(executor, 1, kLongOne);
  later.AwaitStart();
  EXPECT_FALSE(HasLowPriority(later));
}

TEST_F(LongTasksTest, WhereCpusAreFreeLongTasksKeepTheirPriority) {
  ThreadPoolExecutor executor(2, options());
  HeldTask one(executor, 1, kLongOne);
  one.AwaitStart();
  RunOne(executor, kShortOne);
  EXPECT_FALSE(HasLowPriority(one));
}

// A long task that waits for a place hides those behind it in its flow. When
// it starts, threads look for them.
TEST_F(LongTasksTest, TasksBehindALongOneFollowIt) {
  ThreadPoolExecutor executor(1, options());
  HeldTask first(executor, 1, kLongOne);
  first.AwaitStart();
  HeldTask second(executor, 2, {.cpu_nanos = 10 * kMilli, .urgency = 0});
  HeldTask behind(executor, 2, {.cpu_nanos = kMilli, .urgency = 1});
  RunOne(executor, kShortOne);
  EXPECT_FALSE(behind.has_started());
  first.LetGo();
  second.AwaitStart();
  behind.AwaitStart();
}

TEST_F(LongTasksTest, StopsWhileTasksOfAllKindsRunAndWait) {
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
    std::thread stopper([&] { executor.Stop(); });
    slow.LetGo();
    next.LetGo();
    stopper.join();
    EXPECT_EQ(held.use_count(), 1);
    EXPECT_EQ(executor.busy(), 0);
  }
}

}  // namespace
}  // namespace forebay::executor
