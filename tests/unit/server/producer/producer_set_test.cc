#include "server/producer/producer_set.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "server/arena/shared_memory.h"
#include "server/base/fd.h"
#include "tests/unit/server/producer/fake_host.h"

namespace forebay::producer {
namespace {

using proto::ProducerCommand;

class ProducerSetTest : public testing::Test {
 protected:
  void Start() { host_.emplace(*set_->Start(2)); }

  absl::StatusOr<SharedSlot> Share() {
    return ProducerSet::Share(set_, memory_.fd(), memory_.data(),
                              memory_.bytes());
  }

  const std::shared_ptr<ProducerSet> set_ =
      std::make_shared<ProducerSet>(std::vector<std::uint64_t>{64, 128});
  arena::SharedMemory memory_ =
      *arena::SharedMemory::CreateUnsealed("forebay-test", 4096);
  std::optional<FakeHost> host_;
};

TEST_F(ProducerSetTest, NeedsAHost) {
  EXPECT_EQ(set_->most(), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(Share().status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(set_->Take().status()));
}

TEST_F(ProducerSetTest, HasOneHost) {
  Start();
  EXPECT_EQ(set_->most(), 2);
  EXPECT_TRUE(absl::IsFailedPrecondition(set_->Start(2).status()));
}

TEST_F(ProducerSetTest, RefusesAnotherHostWhileTheFirstStandsStill) {
  const base::Fd still = *set_->Start(2);
  auto taking =
      std::async(std::launch::async, [this] { return set_->Take().status(); });
  proto::ProducerTask task;
  ASSERT_GT(recv(still.get(), &task, sizeof(task), 0), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(set_->Start(2).status()));
  EXPECT_FALSE(set_->ended()) << "it waited for the first";
  set_->End();
  EXPECT_TRUE(absl::IsUnavailable(taking.get()));
}

TEST_F(ProducerSetTest, ForksOnDemandAndTakesIdleOnesFirst) {
  Start();
  auto first = *set_->Take();
  auto second = *set_->Take();
  EXPECT_EQ(first->number, 0);
  EXPECT_EQ(second->number, 1);
  Producer* const known = first.get();
  set_->GiveBack(std::move(first), true);
  EXPECT_EQ((*set_->Take()).get(), known);
  EXPECT_EQ(host_->tasks().size(), 2);
}

TEST_F(ProducerSetTest, TakesTheOneOfANumber) {
  Start();
  auto second = *set_->Take(1);
  EXPECT_EQ(second->number, 1);
  Producer* const known = second.get();
  auto first = *set_->Take(0);
  EXPECT_EQ(first->number, 0);
  set_->GiveBack(std::move(second), true);
  set_->GiveBack(std::move(first), true);
  second = *set_->Take(1);
  EXPECT_EQ(second.get(), known);
  set_->GiveBack(std::move(second), false);
  second = *set_->Take(1);
  EXPECT_EQ(second->number, 1);
  EXPECT_EQ(host_->tasks().size(), 3) << "it was dead";
}

TEST_F(ProducerSetTest, ADeadOneIsReplacedUnderItsNumber) {
  Start();
  set_->GiveBack(*set_->Take(), false);
  const auto next = *set_->Take();
  EXPECT_EQ(next->number, 0);
  EXPECT_EQ(host_->tasks().size(), 2);
}

TEST_F(ProducerSetTest, SlotsHaveNumbersWhileTheyAreShared) {
  Start();
  EXPECT_EQ(set_->SlotAt(memory_.data()), std::nullopt);
  SharedSlot shared = *Share();
  EXPECT_EQ(set_->SlotAt(memory_.data()), 1);
  shared.reset();
  EXPECT_EQ(set_->SlotAt(memory_.data()), std::nullopt);
  const auto tasks = host_->tasks();
  ASSERT_EQ(tasks.size(), 2);
  EXPECT_EQ(tasks[0].command, ProducerCommand::kMapSlot);
  EXPECT_EQ(tasks[0].bytes, 4096);
  EXPECT_EQ(tasks[0].count, 2);
  EXPECT_EQ(tasks[1].command, ProducerCommand::kUnmapSlot);
  EXPECT_EQ(tasks[1].slot, 1);
}

TEST_F(ProducerSetTest, ThoseThatLackASlotAreReplaced) {
  Start();
  auto early = *set_->Take();
  auto late = *set_->Take();
  set_->GiveBack(std::move(early), true);
  const SharedSlot shared = *Share();
  const auto fresh = *set_->Take();
  EXPECT_EQ(fresh->generation, 1);
  set_->GiveBack(std::move(late), true);
  EXPECT_EQ((*set_->Take())->generation, 1);
}

TEST_F(ProducerSetTest, IdleOnesKeepNoSlotThatIsGone) {
  Start();
  SharedSlot shared = *Share();
  set_->GiveBack(*set_->Take(), true);
  const base::Fd theirs = host_->TakeFd();
  char byte;
  EXPECT_EQ(recv(theirs.get(), &byte, 1, MSG_DONTWAIT), -1);
  shared.reset();
  EXPECT_EQ(recv(theirs.get(), &byte, 1, MSG_DONTWAIT), 0) << "told to end";
  EXPECT_EQ((*set_->Take())->number, 0);
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

TEST_F(ProducerSetTest, WhatAHostCannotDoIsAnErrorAndItGoesOn) {
  Start();
  host_->Refuse("no memory for it");
  EXPECT_EQ(Share().status(), absl::ResourceExhaustedError("no memory for it"));
  host_->Refuse("");
  EXPECT_TRUE(Share().ok());
}

TEST_F(ProducerSetTest, AHostThatIsGoneIsGoneForGood) {
  Start();
  host_.reset();
  EXPECT_TRUE(absl::IsUnavailable(set_->Take().status()));
  EXPECT_TRUE(absl::IsUnavailable(Share().status()));
}

TEST_F(ProducerSetTest, EndReachesAll) {
  Start();
  auto taken = *set_->Take();
  const base::Fd theirs = host_->TakeFd();
  set_->End();
  char byte;
  EXPECT_EQ(recv(theirs.get(), &byte, 1, 0), 0);
  EXPECT_TRUE(absl::IsUnavailable(taken->socket.Await(1000).status()));
  set_->GiveBack(std::move(taken), true);
  EXPECT_TRUE(absl::IsUnavailable(set_->Take().status()));
  while (!host_->ended()) std::this_thread::yield();
}

}  // namespace
}  // namespace forebay::producer
