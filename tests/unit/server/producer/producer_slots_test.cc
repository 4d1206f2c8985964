// Memory that producers can write.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "server/base/fd.h"
#include "server/producer/producer_set.h"
#include "tests/unit/server/producer/producer_set_fixture.h"

namespace forebay::producer {
namespace {

using proto::ProducerCommand;

TEST_F(ProducerSetTest, SlotsHaveNumbersWhileTheyAreShared) {
  Start();
  EXPECT_EQ(set_->SlotAt(memory_.data()), std::nullopt);
  SharedSlot shared = *Share();
  EXPECT_EQ(set_->SlotAt(memory_.data()), 1);
  shared.reset();
  EXPECT_EQ(set_->SlotAt(memory_.data()), std::nullopt);
  while (host_->tasks().size() < 2) std::this_thread::yield();
  const auto tasks = host_->tasks();
  EXPECT_EQ(tasks[0].command, ProducerCommand::kMapSlot);
  EXPECT_EQ(tasks[0].bytes, 4096);
  EXPECT_EQ(tasks[0].count, 2);
  EXPECT_EQ(tasks[1].command, ProducerCommand::kUnmapSlot);
  EXPECT_EQ(tasks[1].slot, 1);
}

TEST_F(ProducerSetTest, MemoryIsKeptWhileAnyProcessMayHaveItMapped) {
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
  EXPECT_FALSE(counted.expired()) << "the host has it mapped";
  host_->Continue();
  while (host_->tasks().size() < 3) std::this_thread::yield();
  Settle();
  EXPECT_FALSE(counted.expired()) << "the producer has it mapped";
  shutdown(theirs.get(), SHUT_RDWR);
  while (!counted.expired()) std::this_thread::yield();
}

TEST_F(ProducerSetTest, MemoryIsKeptUntilAHostThatWasEndedIsGone) {
  Start();
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> counted = kept;
  SharedSlot shared = *Share(std::exchange(kept, nullptr));
  host_->Stop();
  set_->End();
  shared.reset();
  Settle();
  EXPECT_FALSE(counted.expired());
  host_.reset();
  while (!counted.expired()) std::this_thread::yield();
}

TEST_F(ProducerSetTest, MemoryOfAnOrderInFlightIsKeptUntilTheHostIsGone) {
  Start();
  host_->Stop();
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> counted = kept;
  const Later<SharedSlot> shared;
  set_->Share(Region(std::exchange(kept, nullptr)), shared.callback());
  set_->End();
  EXPECT_TRUE(absl::IsUnavailable(shared.Get().status()));
  Settle();
  EXPECT_FALSE(counted.expired()) << "the host may have it mapped";
  host_.reset();
  while (!counted.expired()) std::this_thread::yield();
}

TEST_F(ProducerSetTest, ThoseThatLackASlotAreReplaced) {
  Start();
  auto early = *Take();
  auto late = *Take();
  set_->GiveBack(std::exchange(early, nullptr), true);
  const SharedSlot shared = *Share();
  const auto fresh = *Take();
  EXPECT_NE(fresh->generation(), late->generation());
  set_->GiveBack(std::exchange(late, nullptr), true);
  EXPECT_EQ((*Take())->generation(), fresh->generation());
  EXPECT_EQ(host_->tasks().size(), 5);
}

TEST_F(ProducerSetTest, OneThatIsForkedAmongUnmappedSlotsServesOnce) {
  Start();
  SharedSlot shared = *Share();
  host_->Stop();
  const Later<ProducerPtr> taken;
  EXPECT_EQ(*set_->Take(std::nullopt, taken.callback()), nullptr);
  shared.reset();  // after it, the order to unmap
  host_->Continue();
  auto producer = *taken.Get();
  set_->GiveBack(std::exchange(producer, nullptr), true);
  EXPECT_TRUE(Take().ok());
  EXPECT_EQ(host_->tasks().size(), 4) << "the first had a slot that is gone";
}

TEST_F(ProducerSetTest, OneThatIsForkedLateKeepsNoSlotThatIsGone) {
  Start();
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> counted = kept;
  SharedSlot shared = *Share(std::exchange(kept, nullptr));
  auto first = *Take();
  host_->Stop();
  const Later<ProducerPtr> taken;
  EXPECT_EQ(*set_->Take(std::nullopt, taken.callback()), nullptr);
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

TEST_F(ProducerSetTest, IdleOnesKeepNoSlotThatIsGone) {
  Start();
  SharedSlot shared = *Share();
  set_->GiveBack(*Take(), true);
  const base::Fd theirs = host_->TakeFd();
  char byte;
  EXPECT_EQ(recv(theirs.get(), &byte, 1, MSG_DONTWAIT), -1);
  shared.reset();
  EXPECT_EQ(recv(theirs.get(), &byte, 1, MSG_DONTWAIT), 0) << "told to end";
  EXPECT_EQ((*Take())->number(), 0);
}

TEST_F(ProducerSetTest, OnlyWhoMappedASlotBeforeItsSealCanWriteIt) {
  Start();
  const SharedSlot shared = *Share();
  const base::Fd theirs = host_->TakeFd();
  void* const early =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, theirs.get(), 0);
  ASSERT_NE(early, MAP_FAILED);
  ASSERT_TRUE(memory_.Seal(arena::ClientAccess::kRead).ok());
  EXPECT_EQ(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, theirs.get(), 0),
      MAP_FAILED);
  *static_cast<char*>(early) = 'x';
  EXPECT_EQ(*memory_.data(), 'x');
  munmap(early, 4096);
}

}  // namespace
}  // namespace forebay::producer
