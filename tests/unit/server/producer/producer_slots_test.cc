// Memory that producers can write.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "server/base/fd.h"
#include "server/producer/producer_set.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/producer/producer_set_fixture.h"

namespace forebay::producer {
namespace {

using tests::HasCode;
using tests::IsOk;

using proto::ProducerCommand;

TEST_CASE_METHOD(ProducerSetTest,
                 "Slots of a producer set have numbers while they are shared",
                 "[producer][producer_slots]") {
  Start();
  CHECK(set_->SlotAt(memory_.data()) == std::nullopt);
  SharedSlot shared = *Share();
  CHECK(set_->SlotAt(memory_.data()) == 1);
  shared.reset();
  CHECK(set_->SlotAt(memory_.data()) == std::nullopt);
  while (host_->tasks().size() < 2) std::this_thread::yield();
  const auto tasks = host_->tasks();
  CHECK(tasks[0].command == ProducerCommand::kMapSlot);
  CHECK(tasks[0].bytes == 4096);
  CHECK(tasks[0].count == 2);
  CHECK(tasks[1].command == ProducerCommand::kUnmapSlot);
  CHECK(tasks[1].slot == 1);
}

TEST_CASE_METHOD(ProducerSetTest,
                 "A slot's memory is kept while any process may have it mapped",
                 "[producer][producer_slots]") {
  Start();
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> counted = kept;
  SharedSlot shared = *Share(std::exchange(kept, nullptr));
  auto producer = *Take();
  const base::Fd theirs = host_->TakeFd();
  host_->Stop();
  shared.reset();
  set_->GiveBack(std::exchange(producer, nullptr), true);
  Settle();
  UNSCOPED_INFO("the host has it mapped");
  CHECK_FALSE(counted.expired());
  host_->Continue();
  while (host_->tasks().size() < 3) std::this_thread::yield();
  Settle();
  UNSCOPED_INFO("the producer has it mapped");
  CHECK_FALSE(counted.expired());
  shutdown(theirs.get(), SHUT_RDWR);
  while (!counted.expired()) std::this_thread::yield();
}

TEST_CASE_METHOD(ProducerSetTest,
                 "A slot's memory is kept until a host that was ended is gone",
                 "[producer][producer_slots]") {
  Start();
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> counted = kept;
  SharedSlot shared = *Share(std::exchange(kept, nullptr));
  host_->Stop();
  set_->End();
  shared.reset();
  Settle();
  CHECK_FALSE(counted.expired());
  host_.reset();
  while (!counted.expired()) std::this_thread::yield();
}

TEST_CASE_METHOD(ProducerSetTest,
                 "Memory of an order in flight is kept until the host is gone",
                 "[producer][producer_slots]") {
  Start();
  host_->Stop();
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> counted = kept;
  const Later<SharedSlot> shared;
  set_->Share(Region(std::exchange(kept, nullptr)), shared.callback());
  set_->End();
  CHECK_THAT(shared.Get(), HasCode(absl::StatusCode::kUnavailable));
  Settle();
  UNSCOPED_INFO("the host may have it mapped");
  CHECK_FALSE(counted.expired());
  host_.reset();
  while (!counted.expired()) std::this_thread::yield();
}

TEST_CASE_METHOD(ProducerSetTest, "Producers that lack a slot are replaced",
                 "[producer][producer_slots]") {
  Start();
  auto early = *Take();
  auto late = *Take();
  set_->GiveBack(std::exchange(early, nullptr), true);
  const SharedSlot shared = *Share();
  const auto fresh = *Take();
  CHECK(fresh->generation() != late->generation());
  set_->GiveBack(std::exchange(late, nullptr), true);
  CHECK((*Take())->generation() == fresh->generation());
  CHECK(host_->tasks().size() == 5);
}

TEST_CASE_METHOD(
    ProducerSetTest,
    "A producer that is forked among slots to unmap serves only once",
    "[producer][producer_slots]") {
  Start();
  SharedSlot shared = *Share();
  host_->Stop();
  const Later<ProducerPtr> taken;
  CHECK(*set_->Take(std::nullopt, taken.callback()) == nullptr);
  shared.reset();  // after it, the order to unmap
  host_->Continue();
  auto producer = *taken.Get();
  set_->GiveBack(std::exchange(producer, nullptr), true);
  CHECK_THAT(Take(), IsOk());
  UNSCOPED_INFO("the first had a slot that is gone");
  CHECK(host_->tasks().size() == 4);
}

TEST_CASE_METHOD(ProducerSetTest,
                 "A producer that is forked late keeps no slot that is gone",
                 "[producer][producer_slots]") {
  Start();
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> counted = kept;
  SharedSlot shared = *Share(std::exchange(kept, nullptr));
  auto first = *Take();
  host_->Stop();
  const Later<ProducerPtr> taken;
  CHECK(*set_->Take(std::nullopt, taken.callback()) == nullptr);
  clock_.Advance(kLongNanos);
  set_->GiveBack(std::exchange(first, nullptr), true);
  auto second = *taken.Get();
  shared.reset();
  set_->GiveBack(std::exchange(second, nullptr), true);
  host_->Continue();
  while (host_->tasks().size() < 4) std::this_thread::yield();
  // Both producers end when they are told to.
  while (!counted.expired()) host_->EndDismissed();
}

TEST_CASE_METHOD(ProducerSetTest, "Idle producers keep no slot that is gone",
                 "[producer][producer_slots]") {
  Start();
  SharedSlot shared = *Share();
  set_->GiveBack(*Take(), true);
  const base::Fd theirs = host_->TakeFd();
  char byte;
  CHECK(recv(theirs.get(), &byte, 1, MSG_DONTWAIT) == -1);
  shared.reset();
  UNSCOPED_INFO("told to end");
  CHECK(recv(theirs.get(), &byte, 1, MSG_DONTWAIT) == 0);
  CHECK((*Take())->number() == 0);
}

TEST_CASE_METHOD(
    ProducerSetTest,
    "Only a process that mapped a slot before its seal can write to it",
    "[producer][producer_slots]") {
  Start();
  const SharedSlot shared = *Share();
  const base::Fd theirs = host_->TakeFd();
  void* const early =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, theirs.get(), 0);
  REQUIRE(early != MAP_FAILED);
  REQUIRE_THAT(memory_.Seal(arena::ClientAccess::kRead), IsOk());
  CHECK(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, theirs.get(),
             0) == MAP_FAILED);
  *static_cast<char*>(early) = 'x';
  CHECK(*memory_.data() == 'x');
  munmap(early, 4096);
}

}  // namespace
}  // namespace forebay::producer
