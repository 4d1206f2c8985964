#include "server/worker/worker_set.h"

#include <sys/socket.h>

#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/fd.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/worker/worker_set_fixture.h"

namespace forebay::worker {
namespace {

using tests::HasCode;
using tests::IsOk;

using proto::WorkerCommand;

TEST_CASE_METHOD(WorkerSetTest, "A worker set needs a worker pool",
                 "[worker][worker_set]") {
  CHECK(set_->most() == 0);
  CHECK_THAT(set_->CheckPool(), HasCode(absl::StatusCode::kFailedPrecondition));
  CHECK_THAT(Share(), HasCode(absl::StatusCode::kFailedPrecondition));
  CHECK_THAT(Take(), HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_CASE_METHOD(WorkerSetTest, "A worker set has one worker pool",
                 "[worker][worker_set]") {
  Start();
  CHECK_THAT(set_->CheckPool(), IsOk());
  CHECK(set_->most() == 2);
  CHECK(set_->Start(2, "job b").status() ==
        absl::FailedPreconditionError(
            "job a has started the workers that make these samples"));
}

TEST_CASE_METHOD(WorkerSetTest,
                 "A worker set blocks nobody while its worker pool is stopped",
                 "[worker][worker_set]") {
  Start();
  pool_->Stop();
  const Later<SharedSlot> shared;
  set_->Share(Region(), shared.callback());
  const Later<WorkerPtr> taken;
  CHECK(*set_->Take(std::nullopt, taken.callback()) == nullptr);
  CHECK_THAT(set_->Start(2, "job b"),
             HasCode(absl::StatusCode::kFailedPrecondition));
  clock_.Advance(std::int64_t{3600} * 1'000'000'000);
  set_->Look({.is_awaited = true});
  CHECK_FALSE(set_->ended());
  pool_->Continue();
  CHECK_THAT(shared.Get(), IsOk());
  CHECK_THAT(taken.Get(), IsOk());
}

TEST_CASE_METHOD(WorkerSetTest,
                 "A worker set's end reaches all who wait for its worker pool",
                 "[worker][worker_set]") {
  Start();
  pool_->Stop();
  const Later<SharedSlot> shared;
  set_->Share(Region(), shared.callback());
  const Later<WorkerPtr> taken;
  CHECK(*set_->Take(std::nullopt, taken.callback()) == nullptr);
  set_->End();
  CHECK_THAT(shared.Get(), HasCode(absl::StatusCode::kUnavailable));
  CHECK_THAT(taken.Get(), HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE_METHOD(WorkerSetTest,
                 "A worker set forks on demand and takes idle workers first",
                 "[worker][worker_set]") {
  Start();
  auto first = *Take();
  auto second = *Take();
  CHECK(first->number() == 0);
  CHECK(second->number() == 1);
  Worker* const known = first.get();
  set_->GiveBack(std::exchange(first, nullptr), true);
  CHECK((*Take()).get() == known);
  CHECK(pool_->tasks().size() == 2);
}

// The caller keeps its turn to fork. If it did not, one quick worker would do
// what needs several workers.
TEST_CASE_METHOD(
    WorkerSetTest,
    "A worker that is given back leaves its fork to a caller that waits",
    "[worker][worker_set]") {
  Start();
  auto first = *Take();
  pool_->Stop();
  const Later<WorkerPtr> taken;
  CHECK(*set_->Take(std::nullopt, taken.callback()) == nullptr);
  Worker* const known = first.get();
  set_->GiveBack(std::exchange(first, nullptr), true);
  CHECK(Take()->get() == known);
  pool_->Continue();
  CHECK((*taken.Get())->number() == 1);
}

TEST_CASE_METHOD(
    WorkerSetTest,
    "A worker that is given back makes the part of a batch that waits",
    "[worker][worker_set]") {
  const auto set = WorkerSet::Create(
      {64}, "data",
      {.waiter = &waiter_, .clock = &clock_, .makes_parts = true});
  FakeWorkerPool pool(*set->Start(2, "job a"));
  const Later<WorkerPtr> first;
  CHECK(*set->Take(std::nullopt, first.callback()) == nullptr);
  auto quick = *first.Get();
  pool.Stop();
  const Later<WorkerPtr> taken;
  CHECK(*set->Take(std::nullopt, taken.callback()) == nullptr);
  Worker* const known = quick.get();
  set->GiveBack(std::exchange(quick, nullptr), true);
  CHECK(taken.Get()->get() == known);
  pool.Continue();
  set->End();
  Settle();
}

TEST_CASE_METHOD(WorkerSetTest,
                 "Each caller that waits for a worker's number is told that "
                 "none is forked",
                 "[worker][worker_set]") {
  Start();
  pool_->Stop();
  const Later<WorkerPtr> first;
  const Later<WorkerPtr> second;
  CHECK(*set_->Take(1, first.callback()) == nullptr);
  CHECK(*set_->Take(1, second.callback()) == nullptr);
  pool_->Refuse("no process left");
  pool_->Continue();
  CHECK_THAT(first.Get(), HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(second.Get(), HasCode(absl::StatusCode::kResourceExhausted));
}

TEST_CASE_METHOD(WorkerSetTest,
                 "A dead worker is replaced for a caller that waits",
                 "[worker][worker_set]") {
  Start();
  auto first = *Take();
  const Later<WorkerPtr> taken;
  pool_->Refuse("no process left");
  CHECK(*set_->Take(std::nullopt, taken.callback()) == nullptr);
  CHECK_THAT(taken.Get(), HasCode(absl::StatusCode::kResourceExhausted));
  pool_->Refuse("");
  set_->GiveBack(std::exchange(first, nullptr), false);
  CHECK((*Take())->number() == 0);
}

TEST_CASE_METHOD(WorkerSetTest,
                 "A worker set takes the worker of a given number",
                 "[worker][worker_set]") {
  Start();
  auto second = *Take(1);
  CHECK(second->number() == 1);
  Worker* const known = second.get();
  auto first = *Take(0);
  CHECK(first->number() == 0);
  set_->GiveBack(std::exchange(second, nullptr), true);
  set_->GiveBack(std::exchange(first, nullptr), true);
  second = *Take(1);
  CHECK(second.get() == known);
  set_->GiveBack(std::exchange(second, nullptr), false);
  second = *Take(1);
  CHECK(second->number() == 1);
  UNSCOPED_INFO("it was dead");
  CHECK(pool_->tasks().size() == 3);
}

TEST_CASE_METHOD(WorkerSetTest, "A dead worker is replaced under its number",
                 "[worker][worker_set]") {
  Start();
  set_->GiveBack(*Take(), false);
  const auto next = *Take();
  CHECK(next->number() == 0);
  CHECK(pool_->tasks().size() == 2);
}

TEST_CASE_METHOD(WorkerSetTest, "Idle workers that have ended are not taken",
                 "[worker][worker_set]") {
  Start();
  std::vector<WorkerPtr> taken;
  std::vector<base::Fd> theirs;
  for (int i = 0; i < 4; ++i) {
    taken.push_back(*Take());
    theirs.push_back(pool_->TakeFd());
  }
  for (WorkerPtr& one : taken)
    set_->GiveBack(std::exchange(one, nullptr), true);
  for (int i = 1; i < 4; ++i) theirs[i].Close();
  CHECK((*Take())->number() == 0);
  CHECK((*Take())->number() == 1);
  UNSCOPED_INFO("one was forked");
  CHECK(pool_->tasks().size() == 5);
}

TEST_CASE_METHOD(WorkerSetTest,
                 "A worker set reports what its worker pool cannot do as an "
                 "error and goes on",
                 "[worker][worker_set]") {
  Start();
  pool_->Refuse("no memory for it");
  CHECK_THAT(Share(), HasCode(absl::StatusCode::kResourceExhausted));
  pool_->Refuse("");
  CHECK_THAT(Share(), IsOk());
}

TEST_CASE_METHOD(WorkerSetTest,
                 "A worker set's worker pool that is gone is gone for good",
                 "[worker][worker_set]") {
  Start();
  pool_.reset();
  CHECK_THAT(Take(), HasCode(absl::StatusCode::kUnavailable));
  CHECK_THAT(Share(), HasCode(absl::StatusCode::kUnavailable));
  while (!set_->ended()) std::this_thread::yield();
  CHECK_THAT(set_->CheckPool(), HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE_METHOD(
    WorkerSetTest,
    "A worker pool is asked whether it answers while a task is not done",
    "[worker][worker_set]") {
  Start();
  auto worker = *Take();
  worker->Begin(clock_.NowNanos(), false);
  set_->Look({});
  UNSCOPED_INFO("the task may be done soon");
  CHECK(pool_->tasks().size() == 1);
  pool_->Stop();
  clock_.Advance(1'000'000'000);
  set_->Look({});
  clock_.Advance(10'000'000'000);
  CHECK(set_->SilentNanos() == 10'000'000'000);
  pool_->Continue();
  while (pool_->tasks().size() < 2) std::this_thread::yield();
  CHECK(pool_->tasks()[1].command == WorkerCommand::kPing);
  while (set_->SilentNanos() > 0) std::this_thread::yield();
}

TEST_CASE_METHOD(WorkerSetTest,
                 "A worker set's end reaches its workers and its worker pool",
                 "[worker][worker_set]") {
  Start();
  auto taken = *Take();
  const base::Fd theirs = pool_->TakeFd();
  set_->End();
  char byte;
  CHECK(recv(theirs.get(), &byte, 1, 0) == 0);
  CHECK_THAT(taken->socket.Await(1000),
             HasCode(absl::StatusCode::kUnavailable));
  set_->GiveBack(std::exchange(taken, nullptr), true);
  CHECK_THAT(Take(), HasCode(absl::StatusCode::kUnavailable));
  while (!pool_->ended()) std::this_thread::yield();
}

}  // namespace
}  // namespace forebay::worker
