#include "server/executor/thread_pool_executor.h"

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <latch>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/base/clock.h"
#include "server/executor/task_places.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/executor/fake_cpu_clock.h"

namespace forebay::executor {
namespace {

using Catch::WithinAbs;

constexpr std::int64_t kLong = 2 * kLongTaskNanos;

TEST_CASE("The executor runs every task once",
          "[executor][thread_pool_executor]") {
  constexpr int kTasks = 10'000;
  std::vector<std::atomic<int>> runs(kTasks);
  std::latch done(kTasks);
  ThreadPoolExecutor executor(4);
  CHECK(executor.cpus() == 4);
  CHECK(executor.places() == TaskPlaces::CountFor(4));
  std::vector<std::jthread> submitters;
  for (int submitter = 0; submitter < 4; ++submitter)
    submitters.emplace_back([&, submitter] {
      for (int i = submitter; i < kTasks; i += 4)
        executor.Submit(i % 3, {1000}, [&, i](int) {
          ++runs[i];
          done.count_down();
        });
    });
  done.wait();
  for (const std::atomic<int>& run : runs) CHECK(run == 1);
}

TEST_CASE("The executor lets no two tasks share a place at once",
          "[executor][thread_pool_executor]") {
  constexpr int kWorkers = TaskPlaces::CountFor(3);
  constexpr int kTasks = 3000;
  std::atomic<bool> taken[kWorkers] = {};
  std::atomic<int> clashes = 0;
  std::latch done(kTasks);
  ThreadPoolExecutor executor(3);
  for (int i = 0; i < kTasks; ++i)
    executor.Submit(i % 2, {i % 2 == 0 ? 1 : kLong}, [&](int place) {
      if (place < 0 || place >= kWorkers || taken[place].exchange(true))
        ++clashes;
      std::this_thread::yield();
      taken[place] = false;
      done.count_down();
    });
  done.wait();
  CHECK(clashes == 0);
}

// Objects that tasks refer to may be destroyed once Stop has returned. Objects
// that submit tasks may still submit more.
TEST_CASE(
    "The executor once stopped drops the tasks that wait and those that come",
    "[executor][thread_pool_executor]") {
  ThreadPoolExecutor executor(1);
  std::latch running(1);
  std::latch go(1);
  std::atomic<bool> finished = false;
  executor.Submit(1, {1}, [&](int) {
    running.count_down();
    go.wait();
    finished = true;
  });
  running.wait();
  const auto held = std::make_shared<int>();
  std::atomic<int> run = 0;
  const auto task = [held, &run](int) { ++run; };
  std::latch stopping(1);
  bool finished_before = false;
  std::jthread stopper([&] {
    stopping.count_down();
    executor.Stop();
    finished_before = finished.load();
  });
  stopping.wait();
  executor.Submit(2, {1}, task);
  go.count_down();
  stopper.join();
  CHECK(finished_before);
  executor.Submit(2, {1}, task);
  CHECK(executor.queued() == 0);
  CHECK(executor.busy() == 0);
  CHECK(executor.cpus() == 1);
  CHECK(run <= 1);  // a task may run before the stop
  UNSCOPED_INFO("a dropped task is kept");
  CHECK(held.use_count() == 2);
}

// There are as many tasks as threads, and each waits for the others. All must
// run at once, so no thread may sleep while tasks wait.
TEST_CASE("The executor uses all threads", "[executor][thread_pool_executor]") {
  ThreadPoolExecutor executor(4);
  for (int round = 0; round < 200; ++round) {
    std::latch all(8 + 1);
    std::latch left(8);
    for (int i = 0; i < 8; ++i)
      executor.Submit(i, {i < 4 ? 1 : kLong}, [&](int) {
        all.arrive_and_wait();
        left.count_down();
      });
    all.arrive_and_wait();
    left.wait();
    CHECK(left.try_wait());
  }
}

TEST_CASE("The executor names its threads",
          "[executor][thread_pool_executor]") {
  std::string name;
  std::latch done(1);
  ThreadPoolExecutor executor(1);
  executor.Submit(1, {1}, [&](int) {
    char buffer[16];
    pthread_getname_np(pthread_self(), buffer, sizeof(buffer));
    name = buffer;
    done.count_down();
  });
  done.wait();
  CHECK(name == "forebay-cpu-0");
}

TEST_CASE("The executor tells how many tasks wait and how many run",
          "[executor][thread_pool_executor]") {
  std::latch started(2);
  std::latch go(1);
  ThreadPoolExecutor executor(2);
  CHECK(executor.busy() == 0);
  for (int i = 0; i < 5; ++i)
    executor.Submit(1, {1}, [&, i](int) {
      if (i < 2) started.count_down();
      go.wait();
    });
  started.wait();
  CHECK(executor.busy() == 2);
  CHECK(executor.queued() == 3);
  go.count_down();
}

// Each task submits the next one. An executor that ran its whole queue before
// it ends would never end.
TEST_CASE(
    "The executor's destruction runs no further task and lets go of all tasks",
    "[executor][thread_pool_executor]") {
  const auto held = std::make_shared<int>();
  std::atomic<bool> running = false;
  {
    std::latch started(1);
    std::function<void(int)> forever;
    ThreadPoolExecutor executor(2);
    forever = [&](int) {
      running = true;
      if (!started.try_wait()) started.count_down();
      executor.Submit(1, {1}, [&forever, held](int place) { forever(place); });
      running = false;
    };
    executor.Submit(1, {1}, forever);
    started.wait();
  }
  CHECK_FALSE(running);
  CHECK(held.use_count() == 1);
}

TEST_CASE("The executor's tasks may submit tasks",
          "[executor][thread_pool_executor]") {
  std::latch done(100);
  ThreadPoolExecutor executor(2);
  std::function<void(int)> step = [&](int left) {
    done.count_down();
    if (left > 1)
      executor.Submit(1, {1}, [&step, left](int) { step(left - 1); });
  };
  executor.Submit(1, {1}, [&](int) { step(100); });
  done.wait();
  CHECK(done.try_wait());
}

TEST_CASE("The executor runs the most urgent task of a flow first",
          "[executor][thread_pool_executor]") {
  ThreadPoolExecutor executor(1);
  std::latch gate(1);
  std::latch done(3);
  std::vector<int> order;
  executor.Submit(1, {}, [&](int) { gate.wait(); });
  for (const int urgency : {2, 0, 1})
    executor.Submit(1, {.urgency = static_cast<std::uint64_t>(urgency)},
                    [&, urgency](int) {
                      order.push_back(urgency);
                      done.count_down();
                    });
  gate.count_down();
  done.wait();
  CHECK(order == std::vector<int>{0, 1, 2});
}

// A CPU clock that tasks advance, whatever CPU time they really take.
class ScriptedCpu {
 public:
  FakeCpuClock* clock() { return &clock_; }

  // Runs `tasks` tasks of each flow on one thread. A task of `flow` takes
  // `cost[flow]` nanoseconds of CPU time, but its demand is 1. Returns the
  // order in which the flows ran.
  std::vector<int> Run(ThreadPoolExecutor& executor, int tasks,
                       std::vector<std::int64_t> cost) {
    std::latch gate(1);
    std::latch done(tasks * cost.size());
    std::vector<int> order;
    executor.Submit(999, {1}, [&](int) { gate.wait(); });
    for (int i = 0; i < tasks; ++i)
      for (std::size_t flow = 0; flow < cost.size(); ++flow)
        executor.Submit(flow, {1}, [&, flow](int) {
          order.push_back(flow);
          clock_.Advance(cost[flow]);
          done.count_down();
        });
    gate.count_down();
    done.wait();
    return order;
  }

 private:
  FakeCpuClock clock_;
};

TEST_CASE("The executor charges flows the measured CPU time of their tasks",
          "[executor][thread_pool_executor]") {
  ScriptedCpu cpu;
  ThreadPoolExecutor executor(1, {.cpu_clock = cpu.clock()});
  const std::vector<int> order = cpu.Run(executor, 1000, {9000, 1000});
  int heavy = 0;
  for (int i = 0; i < 500; ++i) heavy += order[i] == 0;
  CHECK_THAT(heavy, WithinAbs(50, 5));
}

TEST_CASE("The executor shares CPU time by weight",
          "[executor][thread_pool_executor]") {
  ScriptedCpu cpu;
  ThreadPoolExecutor executor(1, {.cpu_clock = cpu.clock()});
  executor.SetWeight(0, 4);
  const std::vector<int> order = cpu.Run(executor, 1000, {1000, 1000});
  int heavy = 0;
  for (int i = 0; i < 500; ++i) heavy += order[i] == 0;
  CHECK_THAT(heavy, WithinAbs(400, 5));
  executor.Forget(0);
  const std::vector<int> later = cpu.Run(executor, 1000, {1000, 1000});
  heavy = 0;
  for (int i = 0; i < 500; ++i) heavy += later[i] == 0;
  CHECK_THAT(heavy, WithinAbs(250, 5));
}

// Runs `tasks` tasks of flow 0, each of `cost` nanoseconds by the scripted
// clock. Returns the seconds that they took.
double SecondsFor(ThreadPoolExecutor& executor, ScriptedCpu& cpu, int tasks,
                  std::int64_t cost) {
  const std::int64_t begin = base::Clock::Monotonic()->NowNanos();
  cpu.Run(executor, tasks, {cost});
  return 1e-9 *
         static_cast<double>(base::Clock::Monotonic()->NowNanos() - begin);
}

// Caps are not exceeded, however slow this machine is. A burst may be a tenth
// of a second's allowance and one more task.
TEST_CASE("The executor holds a flow back by its cap",
          "[executor][thread_pool_executor]") {
  ScriptedCpu cpu;
  ThreadPoolExecutor executor(1, {.cpu_clock = cpu.clock()});
  executor.SetCap(0, 0.5);
  const double seconds = SecondsFor(executor, cpu, 20, 10'000'000);
  CHECK(20 * 0.010 <= 0.5 * (seconds + 0.1) + 0.011);
}

TEST_CASE("The executor's limit of CPUs holds all flows back",
          "[executor][thread_pool_executor]") {
  ScriptedCpu cpu;
  ThreadPoolExecutor executor(1, {.max_cpus = 0.25, .cpu_clock = cpu.clock()});
  const double seconds = SecondsFor(executor, cpu, 10, 10'000'000);
  CHECK(10 * 0.010 <= 0.25 * (seconds + 0.1) + 0.011);
}

TEST_CASE(
    "A flow that is not capped takes the CPU time that a capped one leaves",
    "[executor][thread_pool_executor]") {
  base::FakeClock clock;
  ScriptedCpu cpu;
  ThreadPoolExecutor executor(1, {.clock = &clock, .cpu_clock = cpu.clock()});
  executor.SetCap(0, 1);
  std::latch others(50);
  std::atomic<int> capped = 0;
  for (int i = 0; i < 50; ++i) {
    executor.Submit(0, {10'000'000}, [&](int) {
      ++capped;
      cpu.clock()->Advance(10'000'000);
    });
    executor.Submit(1, {10'000'000}, [&](int) {
      cpu.clock()->Advance(10'000'000);
      others.count_down();
    });
  }
  others.wait();
  UNSCOPED_INFO("no time has passed, so it has its burst alone");
  CHECK(capped <= 10);
  executor.SetCap(0, std::numeric_limits<double>::infinity());
  while (capped < 50) std::this_thread::yield();
}

// Tasks of a flow keep no thread awake while the flow is over its cap. Each of
// many threads is woken in time.
TEST_CASE("The executor's many threads share a cap and run every task",
          "[executor][thread_pool_executor]") {
  ThreadPoolExecutor executor(4, {.max_cpus = 3});
  executor.SetCap(7, 2);
  constexpr int kTasks = 400;
  std::latch done(2 * kTasks);
  for (int i = 0; i < kTasks; ++i)
    for (const int flow : {7, 8})
      executor.Submit(flow, {500'000}, [&](int) { done.count_down(); });
  done.wait();
  CHECK(done.try_wait());
}

TEST_CASE("The executor ends even while tasks wait behind caps",
          "[executor][thread_pool_executor]") {
  const auto held = std::make_shared<int>();
  {
    ThreadPoolExecutor executor(2, {.max_cpus = 0.001});
    executor.SetCap(1, 0.001);
    for (int i = 0; i < 100; ++i)
      executor.Submit(1, {1'000'000'000}, [held](int) {});
  }
  CHECK(held.use_count() == 1);
}

}  // namespace
}  // namespace forebay::executor
