#include "server/producer/producer_set.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/fd.h"
#include "tests/unit/server/producer/producer_set_fixture.h"

namespace forebay::producer {
namespace {

using proto::ProducerCommand;

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
  EXPECT_EQ(set_->Start(2, "job b").status(),
            absl::FailedPreconditionError(
                "job a has started the workers that make these samples"));
}

TEST_F(ProducerSetTest, NobodyWaitsForAHostThatIsStopped) {
  Start();
  host_->Stop();
  const Later<SharedSlot> shared;
  set_->Share(Region(), shared.callback());
  const Later<ProducerPtr> taken;
  EXPECT_EQ(*set_->Take(std::nullopt, taken.callback()), nullptr);
  EXPECT_TRUE(absl::IsFailedPrecondition(set_->Start(2, "job b").status()));
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

TEST_F(ProducerSetTest, OneThatIsGivenBackMakesTheBatchesPartThatWaits) {
  const auto set = ProducerSet::Create(
      {64}, "data",
      {.waiter = &waiter_, .clock = &clock_, .makes_parts = true});
  FakeHost host(*set->Start(2, "job a"));
  const Later<ProducerPtr> first;
  EXPECT_EQ(*set->Take(std::nullopt, first.callback()), nullptr);
  auto quick = *first.Get();
  host.Stop();
  const Later<ProducerPtr> taken;
  EXPECT_EQ(*set->Take(std::nullopt, taken.callback()), nullptr);
  Producer* const known = quick.get();
  set->GiveBack(std::exchange(quick, nullptr), true);
  EXPECT_EQ(taken.Get()->get(), known);
  host.Continue();
  set->End();
  Settle();
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
  EXPECT_TRUE(absl::IsResourceExhausted(taken.Get().status()));
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

TEST_F(ProducerSetTest, WhatAHostCannotDoIsAnErrorAndItGoesOn) {
  Start();
  host_->Refuse("no memory for it");
  EXPECT_TRUE(absl::IsResourceExhausted(Share().status()));
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
