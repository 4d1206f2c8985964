#include "server/worker/worker_pool.h"

#include <sys/socket.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/clock.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/worker/fake_worker_pool.h"

namespace forebay::worker {
namespace {

using tests::HasCode;
using tests::IsOk;

using proto::WorkerCommand;

constexpr std::int64_t kSecond = 1'000'000'000;

class WorkerPoolTest {
 protected:
  WorkerPoolTest() {
    TaskSocket::Pair pair = *TaskSocket::Create();
    theirs_ = std::move(pair.theirs);
    pool_ = WorkerPool::Create(std::move(pair.ours), &waiter_, &clock_,
                               [this] { gone_.set_value(); });
  }

  // Sends an order. When the order is done, the future gets its number or its
  // failure.
  std::future<absl::StatusOr<WorkerPool::Done>> Send(
      WorkerCommand command, std::uint32_t slot,
      const std::shared_ptr<Mapping>& mapping = nullptr) {
    const auto done =
        std::make_shared<std::promise<absl::StatusOr<WorkerPool::Done>>>();
    WorkerPool::Order order;
    order.task.command = command;
    order.task.slot = slot;
    order.mapping = mapping;
    order.done = [done](absl::StatusOr<WorkerPool::Done> said) {
      done->set_value(std::move(said));
    };
    pool_->Send(std::move(order));
    return done->get_future();
  }
  // Takes the next order, or nullopt if there is none.
  std::optional<proto::WorkerTask> Take() {
    proto::WorkerTask task;
    if (recv(theirs_.get(), &task, sizeof(task), MSG_DONTWAIT) <= 0)
      return std::nullopt;
    return task;
  }
  void TaskAnswer(const std::string& failure = {}) {
    const std::string said = AnswerOf(failure);
    REQUIRE(send(theirs_.get(), said.data(), said.size(), 0) > 0);
  }
  // Waits until the waiter has finished what it has begun.
  void Settle() {
    std::promise<void> done;
    waiter_.Post([&] { done.set_value(); });
    done.get_future().wait();
  }

  base::FakeClock clock_;
  std::promise<void> gone_;
  AnswerWaiter waiter_;
  base::Fd theirs_;
  std::shared_ptr<WorkerPool> pool_;
};

TEST_CASE_METHOD(WorkerPoolTest,
                 "A worker pool has one order in flight at a time",
                 "[worker][worker_pool]") {
  auto first = Send(WorkerCommand::kMapSlot, 1);
  auto second = Send(WorkerCommand::kFork, 0);
  CHECK(Take()->command == WorkerCommand::kMapSlot);
  CHECK(Take() == std::nullopt);
  TaskAnswer();
  CHECK_THAT(first.get(), IsOk());
  CHECK(Take()->command == WorkerCommand::kFork);
  TaskAnswer();
  const auto forked = second.get();
  REQUIRE_THAT(forked, IsOk());
  CHECK(forked->mapped.size() == 1);
  CHECK(forked->answer.cpu_nanos == 7);
}

TEST_CASE_METHOD(
    WorkerPoolTest,
    "A worker pool's stopped process is not an error of its orders",
    "[worker][worker_pool]") {
  auto order = Send(WorkerCommand::kMapSlot, 1);
  clock_.Advance(3600 * kSecond);
  Settle();
  CHECK(order.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  TaskAnswer();
  CHECK_THAT(order.get(), IsOk());
}

TEST_CASE_METHOD(WorkerPoolTest, "A worker pool tells how long it is silent",
                 "[worker][worker_pool]") {
  CHECK(pool_->SilentNanos() == 0);
  auto order = Send(WorkerCommand::kMapSlot, 1);
  clock_.Advance(5 * kSecond);
  UNSCOPED_INFO("nobody can see it yet");
  CHECK(pool_->SilentNanos() == 3 * kSecond);
  TaskAnswer();
  order.get().status().IgnoreError();
  CHECK(pool_->SilentNanos() == 0);
  CHECK(pool_->answered_at_nanos() == clock_.NowNanos());
  Send(WorkerCommand::kMapSlot, 2).wait_for(std::chrono::seconds(0));
  clock_.Advance(5 * kSecond);
  CHECK(pool_->SilentNanos() == 5 * kSecond);
  // The worker pool's process is this process, which runs.
  pool_->Look();
  CHECK(pool_->SilentNanos() == 0);
}

TEST_CASE_METHOD(
    WorkerPoolTest,
    "A worker pool is asked whether it answers where no order tells",
    "[worker][worker_pool]") {
  pool_->Ping();
  pool_->Ping();
  CHECK(Take()->command == WorkerCommand::kPing);
  CHECK(Take() == std::nullopt);
  TaskAnswer();
  while (pool_->answered_at_nanos() == INT64_MIN) std::this_thread::yield();
  pool_->Ping();
  CHECK(Take()->command == WorkerCommand::kPing);
}

TEST_CASE_METHOD(WorkerPoolTest,
                 "What a worker pool cannot do is an error of that order alone",
                 "[worker][worker_pool]") {
  auto first = Send(WorkerCommand::kMapSlot, 1);
  auto second = Send(WorkerCommand::kFork, 0);
  TaskAnswer("no memory for it");
  CHECK_THAT(first.get(), HasCode(absl::StatusCode::kResourceExhausted));
  TaskAnswer();
  CHECK(second.get()->mapped.empty());
}

TEST_CASE_METHOD(WorkerPoolTest,
                 "A worker pool whose process is gone fails all orders",
                 "[worker][worker_pool]") {
  auto first = Send(WorkerCommand::kMapSlot, 1);
  auto second = Send(WorkerCommand::kFork, 0);
  theirs_.Close();
  gone_.get_future().wait();
  CHECK_THAT(first.get(), HasCode(absl::StatusCode::kUnavailable));
  CHECK_THAT(second.get(), HasCode(absl::StatusCode::kUnavailable));
  CHECK_THAT(Send(WorkerCommand::kFork, 0).get(),
             HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE_METHOD(WorkerPoolTest, "A worker pool's end fails all orders at once",
                 "[worker][worker_pool]") {
  auto order = Send(WorkerCommand::kMapSlot, 1);
  pool_->End();
  CHECK_THAT(order.get(), HasCode(absl::StatusCode::kUnavailable));
  CHECK(Take().has_value());
  char byte;
  UNSCOPED_INFO("it may end");
  CHECK(recv(theirs_.get(), &byte, 1, MSG_DONTWAIT) == 0);
}

TEST_CASE_METHOD(WorkerPoolTest,
                 "A worker pool that answers unasked is given up",
                 "[worker][worker_pool]") {
  TaskAnswer();
  gone_.get_future().wait();
  CHECK_THAT(Send(WorkerCommand::kFork, 0).get(),
             HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE_METHOD(WorkerPoolTest,
                 "What a worker pool has mapped counts until the worker pool "
                 "has unmapped it",
                 "[worker][worker_pool]") {
  auto mapping = std::make_shared<Mapping>();
  const std::weak_ptr<Mapping> counted = mapping;
  auto map = Send(WorkerCommand::kMapSlot, 1, std::exchange(mapping, nullptr));
  TaskAnswer();
  map.get().status().IgnoreError();
  auto unmap = Send(WorkerCommand::kUnmapSlot, 1);
  Settle();
  CHECK_FALSE(counted.expired());
  TaskAnswer();
  unmap.get().status().IgnoreError();
  Settle();
  CHECK(counted.expired());
}

TEST_CASE_METHOD(
    WorkerPoolTest,
    "What a worker pool has mapped counts until the worker pool is gone",
    "[worker][worker_pool]") {
  auto known = std::make_shared<Mapping>();
  auto unsure = std::make_shared<Mapping>();
  const std::weak_ptr<Mapping> counted = known;
  const std::weak_ptr<Mapping> also_counted = unsure;
  auto map = Send(WorkerCommand::kMapSlot, 1, std::exchange(known, nullptr));
  TaskAnswer();
  map.get().status().IgnoreError();
  auto late = Send(WorkerCommand::kMapSlot, 2, std::exchange(unsure, nullptr));
  pool_->End();
  late.get().status().IgnoreError();
  pool_ = nullptr;
  Settle();
  CHECK_FALSE(counted.expired());
  UNSCOPED_INFO("it may have mapped that");
  CHECK_FALSE(also_counted.expired());
  theirs_.Close();
  while (!counted.expired() || !also_counted.expired())
    std::this_thread::yield();
}

}  // namespace
}  // namespace forebay::worker
