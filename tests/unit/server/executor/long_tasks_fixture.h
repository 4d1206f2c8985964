#ifndef FOREBAY_TESTS_UNIT_SERVER_EXECUTOR_LONG_TASKS_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_EXECUTOR_LONG_TASKS_FIXTURE_H_

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "server/base/clock.h"
#include "server/executor/thread_pool_executor.h"
#include "tests/unit/server/executor/fake_cpu_clock.h"

namespace forebay::executor {

inline constexpr std::int64_t kMilli = 1'000'000;
inline constexpr std::int64_t kSecond = 1'000'000'000;
inline constexpr Demand kShortOne = {.cpu_nanos = kMilli};
inline constexpr Demand kLongOne = {.cpu_nanos = 10 * kMilli};

// A task that runs until the test ends it.
class HeldTask {
 public:
  HeldTask(ThreadPoolExecutor& executor, schedule::Flow flow,
           const Demand& demand)
      : HeldTask(executor, std::vector{flow}, demand) {}
  HeldTask(ThreadPoolExecutor& executor,
           const std::vector<schedule::Flow>& flows, const Demand& demand) {
    executor.SubmitFor(flows, demand, [state = state_](int place) {
      state->place = place;
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
  int place() const { return state_->place; }
  pthread_t thread() const { return state_->thread; }
  pid_t id() const { return state_->id; }

 private:
  struct State {
    std::latch started{1};
    std::latch go{1};
    std::latch ended{1};
    int place = -1;
    pid_t id = 0;
    pthread_t thread = {};
  };

  // The state is shared because a task that never starts may outlive this
  // object.
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

// An executor whose time and CPU time the tests advance.
class LongTasksTest {
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
  // Returns once a thread has checked the CPU time of running tasks. Advances
  // the time until a thread may check.
  void AwaitLook() {
    const int before = cpu_.looks();
    while (cpu_.looks() == before) {
      clock_.Advance(kLongTaskNanos);
      std::this_thread::yield();
    }
  }
  // Gives the threads that check running tasks time to do so.
  void LetLooksCome() {
    for (int i = 0; i < 10'000; ++i) {
      clock_.Advance(kOverrunNanos);
      std::this_thread::yield();
    }
  }
  // Returns once the task has started. Before that, other tasks may have to
  // count as long.
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

}  // namespace forebay::executor

#endif  // FOREBAY_TESTS_UNIT_SERVER_EXECUTOR_LONG_TASKS_FIXTURE_H_
