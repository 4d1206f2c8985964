#include "server/producer/producer_set.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "server/arena/shared_memory.h"
#include "server/base/clock.h"
#include "server/base/fd.h"
#include "tests/unit/server/producer/fake_host.h"

namespace forebay::producer {
namespace {

using proto::ProducerCommand;

// A host that works on a fork for so long may be paused.
constexpr std::int64_t kLongNanos = 3'000'000'000;

class ProducerSetTest : public testing::Test {
 protected:
  ~ProducerSetTest() override {
    // Callbacks may hold it.
    set_->End();
    Settle();
  }

  void Start() { host_.emplace(*set_->Start(2)); }

  // The result of a callback, once it was called.
  template <typename Value>
  struct Later {
    std::shared_ptr<std::promise<absl::StatusOr<Value>>> promise =
        std::make_shared<std::promise<absl::StatusOr<Value>>>();

    std::function<void(absl::StatusOr<Value>)> callback() const {
      return [promise = promise](absl::StatusOr<Value> value) {
        promise->set_value(std::move(value));
      };
    }
    absl::StatusOr<Value> Get() const { return promise->get_future().get(); }
  };

  ProducerSet::Region Region(std::shared_ptr<const void> kept = nullptr) {
    return {.fd = memory_.fd(),
            .data = memory_.data(),
            .bytes = memory_.bytes(),
            .kept = std::move(kept)};
  }
  absl::StatusOr<SharedSlot> Share(std::shared_ptr<const void> kept = nullptr) {
    const Later<SharedSlot> shared;
    set_->Share(Region(std::move(kept)), shared.callback());
    return shared.Get();
  }
  // Takes a producer, and waits for it.
  absl::StatusOr<ProducerPtr> Take(
      std::optional<std::uint32_t> number = std::nullopt) {
    const Later<ProducerPtr> taken;
    auto idle = set_->Take(number, taken.callback());
    if (!idle.ok() || *idle != nullptr) return idle;
    return taken.Get();
  }
  // Waits until the waiter has done what it has begun.
  void Settle() {
    std::promise<void> done;
    waiter_.Post([&] { done.set_value(); });
    done.get_future().wait();
  }

  base::FakeClock clock_;
  AnswerWaiter waiter_;
  const std::shared_ptr<ProducerSet> set_ = ProducerSet::Create(
      {64, 128}, "data", {.waiter = &waiter_, .clock = &clock_});
  arena::SharedMemory memory_ =
      *arena::SharedMemory::CreateUnsealed("forebay-test", 4096);
  std::optional<FakeHost> host_;
};

TEST_F(ProducerSetTest, NeedsAHost) {
  EXPECT_EQ(set_->most(), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(set_->CheckHost()));
  EXPECT_TRUE(absl::IsFailedPrecondition(Share().status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(Take().status()));
}

TEST_F(ProducerSetTest, HasOneHost) {
  Start();
  EXPECT_TRUE(set_->CheckHost().ok());
  EXPECT_EQ(set_->most(), 2);
  EXPECT_TRUE(absl::IsFailedPrecondition(set_->Start(2).status()));
}

TEST_F(ProducerSetTest, NobodyWaitsForAHostThatIsStopped) {
  Start();
  host_->Stop();
  const Later<SharedSlot> shared;
  set_->Share(Region(), shared.callback());
  const Later<ProducerPtr> taken;
  EXPECT_EQ(*set_->Take(std::nullopt, taken.callback()), nullptr);
  EXPECT_TRUE(absl::IsFailedPrecondition(set_->Start(2).status()));
  clock_.Advance(std::int64_t{3600} * 1'000'000'000);
  set_->Look({.is_awaited = true});
  EXPECT_FALSE(set_->ended());
  host_->Continue();
  EXPECT_TRUE(shared.Get().ok());
  EXPECT_TRUE(taken.Get().ok());
}

TEST_F(ProducerSetTest, ItsEndReachesThoseWhoWait) {
  Start();
  host_->Stop();
  const Later<SharedSlot> shared;
  set_->Share(Region(), shared.callback());
  const Later<ProducerPtr> taken;
  EXPECT_EQ(*set_->Take(std::nullopt, taken.callback()), nullptr);
  set_->End();
  EXPECT_TRUE(absl::IsUnavailable(shared.Get().status()));
  EXPECT_TRUE(absl::IsUnavailable(taken.Get().status()));
}

TEST_F(ProducerSetTest, ForksOnDemandAndTakesIdleOnesFirst) {
  Start();
  auto first = *Take();
  auto second = *Take();
  EXPECT_EQ(first->number(), 0);
  EXPECT_EQ(second->number(), 1);
  Producer* const known = first.get();
  set_->GiveBack(std::exchange(first, nullptr), true);
  EXPECT_EQ((*Take()).get(), known);
  EXPECT_EQ(host_->tasks().size(), 2);
}

// Otherwise one quick producer would make what several are wanted for.
TEST_F(ProducerSetTest, OneThatIsGivenBackLeavesWhoWaitsItsFork) {
  Start();
  auto first = *Take();
  host_->Stop();
  const Later<ProducerPtr> taken;
  EXPECT_EQ(*set_->Take(std::nullopt, taken.callback()), nullptr);
  Producer* const known = first.get();
  set_->GiveBack(std::exchange(first, nullptr), true);
  EXPECT_EQ(Take()->get(), known);
  host_->Continue();
  EXPECT_EQ((*taken.Get())->number(), 1);
}

TEST_F(ProducerSetTest, EachWhoWaitsForANumberIsToldThatNoneIsForked) {
  Start();
  host_->Stop();
  const Later<ProducerPtr> first;
  const Later<ProducerPtr> second;
  EXPECT_EQ(*set_->Take(1, first.callback()), nullptr);
  EXPECT_EQ(*set_->Take(1, second.callback()), nullptr);
  host_->Refuse("no process left");
  host_->Continue();
  EXPECT_TRUE(absl::IsResourceExhausted(first.Get().status()));
  EXPECT_TRUE(absl::IsResourceExhausted(second.Get().status()));
}

TEST_F(ProducerSetTest, ADeadOneIsReplacedForWhoWaits) {
  Start();
  auto first = *Take();
  const Later<ProducerPtr> taken;
  host_->Refuse("no process left");
  EXPECT_EQ(*set_->Take(std::nullopt, taken.callback()), nullptr);
  EXPECT_EQ(taken.Get().status(),
            absl::ResourceExhaustedError("no process left"));
  host_->Refuse("");
  set_->GiveBack(std::exchange(first, nullptr), false);
  EXPECT_EQ((*Take())->number(), 0);
}

TEST_F(ProducerSetTest, TakesTheOneOfANumber) {
  Start();
  auto second = *Take(1);
  EXPECT_EQ(second->number(), 1);
  Producer* const known = second.get();
  auto first = *Take(0);
  EXPECT_EQ(first->number(), 0);
  set_->GiveBack(std::exchange(second, nullptr), true);
  set_->GiveBack(std::exchange(first, nullptr), true);
  second = *Take(1);
  EXPECT_EQ(second.get(), known);
  set_->GiveBack(std::exchange(second, nullptr), false);
  second = *Take(1);
  EXPECT_EQ(second->number(), 1);
  EXPECT_EQ(host_->tasks().size(), 3) << "it was dead";
}

TEST_F(ProducerSetTest, ADeadOneIsReplacedUnderItsNumber) {
  Start();
  set_->GiveBack(*Take(), false);
  const auto next = *Take();
  EXPECT_EQ(next->number(), 0);
  EXPECT_EQ(host_->tasks().size(), 2);
}

TEST_F(ProducerSetTest, IdleOnesThatHaveEndedAreNotTaken) {
  Start();
  std::vector<ProducerPtr> taken;
  std::vector<base::Fd> theirs;
  for (int i = 0; i < 4; ++i) {
    taken.push_back(*Take());
    theirs.push_back(host_->TakeFd());
  }
  for (ProducerPtr& one : taken)
    set_->GiveBack(std::exchange(one, nullptr), true);
  for (int i = 1; i < 4; ++i) theirs[i].Close();
  EXPECT_EQ((*Take())->number(), 0);
  EXPECT_EQ((*Take())->number(), 1);
  EXPECT_EQ(host_->tasks().size(), 5) << "one was forked";
}

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
  EXPECT_TRUE(absl::IsUnavailable(Take().status()));
  EXPECT_TRUE(absl::IsUnavailable(Share().status()));
  while (!set_->ended()) std::this_thread::yield();
  EXPECT_TRUE(absl::IsUnavailable(set_->CheckHost()));
}

TEST_F(ProducerSetTest, AHostIsAskedWhetherItAnswersWhileATaskIsNotDone) {
  Start();
  auto producer = *Take();
  producer->Begin(clock_.NowNanos(), false);
  set_->Look({});
  EXPECT_EQ(host_->tasks().size(), 1) << "the task may be done soon";
  host_->Stop();
  clock_.Advance(1'000'000'000);
  set_->Look({});
  clock_.Advance(10'000'000'000);
  EXPECT_EQ(set_->SilentNanos(), 10'000'000'000);
  host_->Continue();
  while (host_->tasks().size() < 2) std::this_thread::yield();
  EXPECT_EQ(host_->tasks()[1].command, ProducerCommand::kPing);
  while (set_->SilentNanos() > 0) std::this_thread::yield();
}

TEST_F(ProducerSetTest, EndReachesAll) {
  Start();
  auto taken = *Take();
  const base::Fd theirs = host_->TakeFd();
  set_->End();
  char byte;
  EXPECT_EQ(recv(theirs.get(), &byte, 1, 0), 0);
  EXPECT_TRUE(absl::IsUnavailable(taken->socket.Await(1000).status()));
  set_->GiveBack(std::exchange(taken, nullptr), true);
  EXPECT_TRUE(absl::IsUnavailable(Take().status()));
  while (!host_->ended()) std::this_thread::yield();
}

}  // namespace
}  // namespace forebay::producer
