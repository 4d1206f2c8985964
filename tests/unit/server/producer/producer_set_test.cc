#include "server/producer/producer_set.h"

#include <sys/socket.h>

#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/fd.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/producer/producer_set_fixture.h"

namespace forebay::producer {
namespace {

using tests::HasCode;
using tests::IsOk;

using proto::ProducerCommand;

TEST_CASE_METHOD(ProducerSetTest, "A producer set needs a host",
                 "[producer][producer_set]") {
  CHECK(set_->most() == 0);
  CHECK_THAT(set_->CheckHost(), HasCode(absl::StatusCode::kFailedPrecondition));
  CHECK_THAT(Share(), HasCode(absl::StatusCode::kFailedPrecondition));
  CHECK_THAT(Take(), HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_CASE_METHOD(ProducerSetTest, "A producer set has one host",
                 "[producer][producer_set]") {
  Start();
  CHECK_THAT(set_->CheckHost(), IsOk());
  CHECK(set_->most() == 2);
  CHECK(set_->Start(2, "job b").status() ==
        absl::FailedPreconditionError(
            "job a has started the workers that make these samples"));
}

TEST_CASE_METHOD(ProducerSetTest,
                 "A producer set blocks nobody while its host is stopped",
                 "[producer][producer_set]") {
  Start();
  host_->Stop();
  const Later<SharedSlot> shared;
  set_->Share(Region(), shared.callback());
  const Later<ProducerPtr> taken;
  CHECK(*set_->Take(std::nullopt, taken.callback()) == nullptr);
  CHECK_THAT(set_->Start(2, "job b"),
             HasCode(absl::StatusCode::kFailedPrecondition));
  clock_.Advance(std::int64_t{3600} * 1'000'000'000);
  set_->Look({.is_awaited = true});
  CHECK_FALSE(set_->ended());
  host_->Continue();
  CHECK_THAT(shared.Get(), IsOk());
  CHECK_THAT(taken.Get(), IsOk());
}

TEST_CASE_METHOD(ProducerSetTest,
                 "A producer set's end reaches all who wait for its host",
                 "[producer][producer_set]") {
  Start();
  host_->Stop();
  const Later<SharedSlot> shared;
  set_->Share(Region(), shared.callback());
  const Later<ProducerPtr> taken;
  CHECK(*set_->Take(std::nullopt, taken.callback()) == nullptr);
  set_->End();
  CHECK_THAT(shared.Get(), HasCode(absl::StatusCode::kUnavailable));
  CHECK_THAT(taken.Get(), HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE_METHOD(
    ProducerSetTest,
    "A producer set forks on demand and takes idle producers first",
    "[producer][producer_set]") {
  Start();
  auto first = *Take();
  auto second = *Take();
  CHECK(first->number() == 0);
  CHECK(second->number() == 1);
  Producer* const known = first.get();
  set_->GiveBack(std::exchange(first, nullptr), true);
  CHECK((*Take()).get() == known);
  CHECK(host_->tasks().size() == 2);
}

// Otherwise one quick producer would make what several are wanted for.
TEST_CASE_METHOD(
    ProducerSetTest,
    "A producer that is given back leaves its fork to a caller that waits",
    "[producer][producer_set]") {
  Start();
  auto first = *Take();
  host_->Stop();
  const Later<ProducerPtr> taken;
  CHECK(*set_->Take(std::nullopt, taken.callback()) == nullptr);
  Producer* const known = first.get();
  set_->GiveBack(std::exchange(first, nullptr), true);
  CHECK(Take()->get() == known);
  host_->Continue();
  CHECK((*taken.Get())->number() == 1);
}

TEST_CASE_METHOD(
    ProducerSetTest,
    "A producer that is given back makes the part of a batch that waits",
    "[producer][producer_set]") {
  const auto set = ProducerSet::Create(
      {64}, "data",
      {.waiter = &waiter_, .clock = &clock_, .makes_parts = true});
  FakeHost host(*set->Start(2, "job a"));
  const Later<ProducerPtr> first;
  CHECK(*set->Take(std::nullopt, first.callback()) == nullptr);
  auto quick = *first.Get();
  host.Stop();
  const Later<ProducerPtr> taken;
  CHECK(*set->Take(std::nullopt, taken.callback()) == nullptr);
  Producer* const known = quick.get();
  set->GiveBack(std::exchange(quick, nullptr), true);
  CHECK(taken.Get()->get() == known);
  host.Continue();
  set->End();
  Settle();
}

TEST_CASE_METHOD(ProducerSetTest,
                 "Each caller that waits for a producer's number is told that "
                 "none is forked",
                 "[producer][producer_set]") {
  Start();
  host_->Stop();
  const Later<ProducerPtr> first;
  const Later<ProducerPtr> second;
  CHECK(*set_->Take(1, first.callback()) == nullptr);
  CHECK(*set_->Take(1, second.callback()) == nullptr);
  host_->Refuse("no process left");
  host_->Continue();
  CHECK_THAT(first.Get(), HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(second.Get(), HasCode(absl::StatusCode::kResourceExhausted));
}

TEST_CASE_METHOD(ProducerSetTest,
                 "A dead producer is replaced for a caller that waits",
                 "[producer][producer_set]") {
  Start();
  auto first = *Take();
  const Later<ProducerPtr> taken;
  host_->Refuse("no process left");
  CHECK(*set_->Take(std::nullopt, taken.callback()) == nullptr);
  CHECK_THAT(taken.Get(), HasCode(absl::StatusCode::kResourceExhausted));
  host_->Refuse("");
  set_->GiveBack(std::exchange(first, nullptr), false);
  CHECK((*Take())->number() == 0);
}

TEST_CASE_METHOD(ProducerSetTest,
                 "A producer set takes the producer of a given number",
                 "[producer][producer_set]") {
  Start();
  auto second = *Take(1);
  CHECK(second->number() == 1);
  Producer* const known = second.get();
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
  CHECK(host_->tasks().size() == 3);
}

TEST_CASE_METHOD(ProducerSetTest,
                 "A dead producer is replaced under its number",
                 "[producer][producer_set]") {
  Start();
  set_->GiveBack(*Take(), false);
  const auto next = *Take();
  CHECK(next->number() == 0);
  CHECK(host_->tasks().size() == 2);
}

TEST_CASE_METHOD(ProducerSetTest,
                 "Idle producers that have ended are not taken",
                 "[producer][producer_set]") {
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
  CHECK((*Take())->number() == 0);
  CHECK((*Take())->number() == 1);
  UNSCOPED_INFO("one was forked");
  CHECK(host_->tasks().size() == 5);
}

TEST_CASE_METHOD(
    ProducerSetTest,
    "A producer set reports what its host cannot do as an error and goes on",
    "[producer][producer_set]") {
  Start();
  host_->Refuse("no memory for it");
  CHECK_THAT(Share(), HasCode(absl::StatusCode::kResourceExhausted));
  host_->Refuse("");
  CHECK_THAT(Share(), IsOk());
}

TEST_CASE_METHOD(ProducerSetTest,
                 "A producer set's host that is gone is gone for good",
                 "[producer][producer_set]") {
  Start();
  host_.reset();
  CHECK_THAT(Take(), HasCode(absl::StatusCode::kUnavailable));
  CHECK_THAT(Share(), HasCode(absl::StatusCode::kUnavailable));
  while (!set_->ended()) std::this_thread::yield();
  CHECK_THAT(set_->CheckHost(), HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE_METHOD(ProducerSetTest,
                 "A host is asked whether it answers while a task is not done",
                 "[producer][producer_set]") {
  Start();
  auto producer = *Take();
  producer->Begin(clock_.NowNanos(), false);
  set_->Look({});
  UNSCOPED_INFO("the task may be done soon");
  CHECK(host_->tasks().size() == 1);
  host_->Stop();
  clock_.Advance(1'000'000'000);
  set_->Look({});
  clock_.Advance(10'000'000'000);
  CHECK(set_->SilentNanos() == 10'000'000'000);
  host_->Continue();
  while (host_->tasks().size() < 2) std::this_thread::yield();
  CHECK(host_->tasks()[1].command == ProducerCommand::kPing);
  while (set_->SilentNanos() > 0) std::this_thread::yield();
}

TEST_CASE_METHOD(ProducerSetTest,
                 "A producer set's end reaches its producers and its host",
                 "[producer][producer_set]") {
  Start();
  auto taken = *Take();
  const base::Fd theirs = host_->TakeFd();
  set_->End();
  char byte;
  CHECK(recv(theirs.get(), &byte, 1, 0) == 0);
  CHECK_THAT(taken->socket.Await(1000),
             HasCode(absl::StatusCode::kUnavailable));
  set_->GiveBack(std::exchange(taken, nullptr), true);
  CHECK_THAT(Take(), HasCode(absl::StatusCode::kUnavailable));
  while (!host_->ended()) std::this_thread::yield();
}

}  // namespace
}  // namespace forebay::producer
