// Tests of memory to which workers can write.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "server/base/fd.h"
#include "server/worker/worker_set.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/worker/worker_set_fixture.h"

namespace forebay::worker {
namespace {

using tests::HasCode;
using tests::IsOk;

using proto::WorkerCommand;

TEST_CASE_METHOD(WorkerSetTest,
                 "Slots of a worker set have numbers while they are shared",
                 "[worker][worker_slots]") {
  Start();
  CHECK(set_->SlotAt(memory_.data()) == std::nullopt);
  SharedSlot shared = *Share();
  CHECK(set_->SlotAt(memory_.data()) == 1);
  shared.reset();
  CHECK(set_->SlotAt(memory_.data()) == std::nullopt);
  while (pool_->tasks().size() < 2) std::this_thread::yield();
  const auto tasks = pool_->tasks();
  CHECK(tasks[0].command == WorkerCommand::kMapSlot);
  CHECK(tasks[0].bytes == 4096);
  CHECK(tasks[0].count == 2);
  CHECK(tasks[1].command == WorkerCommand::kUnmapSlot);
  CHECK(tasks[1].slot == 1);
}

TEST_CASE_METHOD(WorkerSetTest,
                 "A slot's memory is kept while any process may have it mapped",
                 "[worker][worker_slots]") {
  Start();
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> counted = kept;
  SharedSlot shared = *Share(std::exchange(kept, nullptr));
  auto worker = *Take();
  const base::Fd theirs = pool_->TakeFd();
  pool_->Stop();
  shared.reset();
  set_->GiveBack(std::exchange(worker, nullptr), true);
  Settle();
  UNSCOPED_INFO("the worker pool has it mapped");
  CHECK_FALSE(counted.expired());
  pool_->Continue();
  while (pool_->tasks().size() < 3) std::this_thread::yield();
  Settle();
  UNSCOPED_INFO("the worker has it mapped");
  CHECK_FALSE(counted.expired());
  shutdown(theirs.get(), SHUT_RDWR);
  while (!counted.expired()) std::this_thread::yield();
}

TEST_CASE_METHOD(
    WorkerSetTest,
    "A slot's memory is kept until a worker pool that was ended is gone",
    "[worker][worker_slots]") {
  Start();
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> counted = kept;
  SharedSlot shared = *Share(std::exchange(kept, nullptr));
  pool_->Stop();
  set_->End();
  shared.reset();
  Settle();
  CHECK_FALSE(counted.expired());
  pool_.reset();
  while (!counted.expired()) std::this_thread::yield();
}

TEST_CASE_METHOD(
    WorkerSetTest,
    "Memory of an order in flight is kept until the worker pool is gone",
    "[worker][worker_slots]") {
  Start();
  pool_->Stop();
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> counted = kept;
  const Later<SharedSlot> shared;
  set_->Share(Region(std::exchange(kept, nullptr)), shared.callback());
  set_->End();
  CHECK_THAT(shared.Get(), HasCode(absl::StatusCode::kUnavailable));
  Settle();
  UNSCOPED_INFO("the worker pool may have it mapped");
  CHECK_FALSE(counted.expired());
  pool_.reset();
  while (!counted.expired()) std::this_thread::yield();
}

TEST_CASE_METHOD(WorkerSetTest, "Workers that lack a slot are replaced",
                 "[worker][worker_slots]") {
  Start();
  auto early = *Take();
  auto late = *Take();
  set_->GiveBack(std::exchange(early, nullptr), true);
  const SharedSlot shared = *Share();
  const auto fresh = *Take();
  CHECK(fresh->generation() != late->generation());
  set_->GiveBack(std::exchange(late, nullptr), true);
  CHECK((*Take())->generation() == fresh->generation());
  CHECK(pool_->tasks().size() == 5);
}

TEST_CASE_METHOD(
    WorkerSetTest,
    "A worker that is forked among slots to unmap serves only once",
    "[worker][worker_slots]") {
  Start();
  SharedSlot shared = *Share();
  pool_->Stop();
  const Later<WorkerPtr> taken;
  CHECK(*set_->Take(std::nullopt, taken.callback()) == nullptr);
  shared.reset();  // The order to unmap follows the order to fork.
  pool_->Continue();
  auto worker = *taken.Get();
  set_->GiveBack(std::exchange(worker, nullptr), true);
  CHECK_THAT(Take(), IsOk());
  UNSCOPED_INFO("the first had a slot that is gone");
  CHECK(pool_->tasks().size() == 4);
}

TEST_CASE_METHOD(WorkerSetTest,
                 "A worker that is forked late keeps no slot that is gone",
                 "[worker][worker_slots]") {
  Start();
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> counted = kept;
  SharedSlot shared = *Share(std::exchange(kept, nullptr));
  auto first = *Take();
  pool_->Stop();
  const Later<WorkerPtr> taken;
  CHECK(*set_->Take(std::nullopt, taken.callback()) == nullptr);
  clock_.Advance(kLongNanos);
  set_->GiveBack(std::exchange(first, nullptr), true);
  auto second = *taken.Get();
  shared.reset();
  set_->GiveBack(std::exchange(second, nullptr), true);
  pool_->Continue();
  while (pool_->tasks().size() < 4) std::this_thread::yield();
  // Both workers end when the daemon dismisses them.
  while (!counted.expired()) pool_->EndDismissed();
}

TEST_CASE_METHOD(WorkerSetTest, "Idle workers keep no slot that is gone",
                 "[worker][worker_slots]") {
  Start();
  SharedSlot shared = *Share();
  set_->GiveBack(*Take(), true);
  const base::Fd theirs = pool_->TakeFd();
  char byte;
  CHECK(recv(theirs.get(), &byte, 1, MSG_DONTWAIT) == -1);
  shared.reset();
  UNSCOPED_INFO("told to end");
  CHECK(recv(theirs.get(), &byte, 1, MSG_DONTWAIT) == 0);
  CHECK((*Take())->number() == 0);
}

TEST_CASE_METHOD(
    WorkerSetTest,
    "Only a process that mapped a slot before its seal can write to it",
    "[worker][worker_slots]") {
  Start();
  const SharedSlot shared = *Share();
  const base::Fd theirs = pool_->TakeFd();
  void* const early =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, theirs.get(), 0);
  REQUIRE(early != MAP_FAILED);
  REQUIRE_THAT(memory_.Seal(slots::ClientAccess::kRead), IsOk());
  CHECK(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, theirs.get(),
             0) == MAP_FAILED);
  *static_cast<char*>(early) = 'x';
  CHECK(*memory_.data() == 'x');
  munmap(early, 4096);
}

}  // namespace
}  // namespace forebay::worker
