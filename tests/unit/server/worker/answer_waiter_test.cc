#include "server/worker/answer_waiter.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/clock.h"
#include "server/base/fd.h"
#include "tests/catch/catch.h"
#include "tests/catch/child.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/worker/fake_worker_pool.h"

namespace forebay::worker {
namespace {

using tests::HasCode;

struct Waited {
  base::Fd theirs;
  std::future<absl::StatusOr<TaskAnswer>> answer;
};

Waited WaitFor(AnswerWaiter& waiter) {
  TaskSocket::Pair pair = *TaskSocket::Create();
  const auto promise =
      std::make_shared<std::promise<absl::StatusOr<TaskAnswer>>>();
  waiter.Wait(std::make_shared<TaskSocket>(std::move(pair.ours)),
              [promise](absl::StatusOr<TaskAnswer> answer) {
                promise->set_value(std::move(answer));
              });
  return {std::move(pair.theirs), promise->get_future()};
}

TEST_CASE("The answer waiter calls with the answer of each process",
          "[worker][answer_waiter]") {
  AnswerWaiter waiter;
  std::vector<Waited> waited;
  for (int i = 0; i < 20; ++i) waited.push_back(WaitFor(waiter));
  for (int i = 19; i >= 0; --i) {
    const std::string said = AnswerOf("number " + std::to_string(i));
    REQUIRE(send(waited[i].theirs.get(), said.data(), said.size(), 0) > 0);
    CHECK(waited[i].answer.get()->failures[0].text ==
          "number " + std::to_string(i));
  }
}

TEST_CASE("The answer waiter calls when the process is gone",
          "[worker][answer_waiter]") {
  AnswerWaiter waiter;
  Waited waited = WaitFor(waiter);
  waited.theirs.Close();
  CHECK_THAT(waited.answer.get(), HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE("The answer waiter keeps nothing of what it has called",
          "[worker][answer_waiter]") {
  AnswerWaiter waiter;
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> counted = kept;
  waiter.Post([kept = std::exchange(kept, nullptr)] {});
  while (!counted.expired()) std::this_thread::yield();
  CHECK(counted.expired());
}

// Lets the worker with the sockets `pair` end. Waits until the waiter has
// noticed and released its socket.
void AwaitEnd(AnswerWaiter& waiter, TaskSocket::Pair pair) {
  std::promise<void> done;
  auto socket = std::make_shared<TaskSocket>(std::move(pair.ours));
  const std::weak_ptr<TaskSocket> kept = socket;
  waiter.Wait(std::move(socket),
              [&done](const absl::StatusOr<TaskAnswer>&) { done.set_value(); });
  shutdown(pair.theirs.get(), SHUT_RDWR);
  done.get_future().wait();
  while (!kept.expired()) std::this_thread::yield();
}

// Waits for an answer while no descriptors are left.
void WaitWithoutDescriptors() {
  AnswerWaiter waiter;
  // UBSan opens a pipe when it first sees a type in use.
  AwaitEnd(waiter, *TaskSocket::Create());
  TaskSocket::Pair pair = *TaskSocket::Create();
  const struct rlimit few = {.rlim_cur = 64, .rlim_max = 64};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  while (dup(pair.theirs.get()) >= 0) {
  }
  AwaitEnd(waiter, std::move(pair));
}

TEST_CASE("The answer waiter needs no descriptors to wait",
          "[worker][answer_waiter]") {
  const tests::ChildEnd child = tests::RunInChild(&WaitWithoutDescriptors);
  INFO(child.err);
  CHECK(child.status == 0);
}

TEST_CASE("The answer waiter watches a descriptor until it is told to stop",
          "[worker][answer_waiter]") {
  AnswerWaiter waiter;
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const auto from = std::make_shared<base::Fd>(ends[0]);
  base::Fd to(ends[1]);
  std::promise<int> seen;
  waiter.Watch(from->get(), [from, &seen, count = 0]() mutable {
    char byte;
    if (read(from->get(), &byte, 1) == 1) {
      ++count;
      return false;
    }
    seen.set_value(count);
    return true;
  });
  REQUIRE(write(to.get(), "ab", 2) == 2);
  to.Close();
  CHECK(seen.get_future().get() == 2);
}

TEST_CASE("The answer waiter does work in order while others wait",
          "[worker][answer_waiter]") {
  AnswerWaiter waiter;
  const Waited waited = WaitFor(waiter);
  std::vector<int> done;
  std::promise<void> last;
  for (int i = 0; i < 10; ++i) waiter.Post([&done, i] { done.push_back(i); });
  waiter.Post([&] { last.set_value(); });
  last.get_future().wait();
  CHECK(done == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("The answer waiter does work later when its time comes",
          "[worker][answer_waiter]") {
  base::FakeClock clock;
  AnswerWaiter waiter(&clock);
  std::vector<int> order;
  std::promise<void> last;
  waiter.PostAfter(2000, [&] {
    order.push_back(2);
    last.set_value();
  });
  waiter.PostAfter(1000, [&] { order.push_back(1); });
  waiter.PostAfter(3000, [&] { order.push_back(3); });
  std::promise<void> looked;
  waiter.Post([&] { looked.set_value(); });
  looked.get_future().wait();
  CHECK(order.empty());
  clock.Advance(2000);
  last.get_future().wait();
  CHECK(order == std::vector<int>{1, 2});
}

TEST_CASE("The answer waiter drops the rest of its callbacks at its end",
          "[worker][answer_waiter]") {
  std::vector<Waited> waited;
  {
    AnswerWaiter waiter;
    waited.push_back(WaitFor(waiter));
  }
  CHECK_THROWS_AS(waited[0].answer.get().status().IgnoreError(),
                  std::future_error);
  AnswerWaiter unused;
}

}  // namespace
}  // namespace forebay::worker
