#include "server/producer/host.h"

#include <gtest/gtest.h>
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
#include "tests/unit/server/producer/fake_host.h"

namespace forebay::producer {
namespace {

using proto::ProducerCommand;

constexpr std::int64_t kSecond = 1'000'000'000;

class HostTest : public testing::Test {
 protected:
  HostTest() {
    TaskSocket::Pair pair = *TaskSocket::Create();
    theirs_ = std::move(pair.theirs);
    host_ = Host::Create(std::move(pair.ours), &waiter_, &clock_,
                         [this] { gone_.set_value(); });
  }

  // Sends an order. Notes its number, or its failure, when it is done.
  std::future<absl::StatusOr<Host::Done>> Send(
      ProducerCommand command, std::uint32_t slot,
      const std::shared_ptr<Mapping>& mapping = nullptr) {
    const auto done =
        std::make_shared<std::promise<absl::StatusOr<Host::Done>>>();
    Host::Order order;
    order.task.command = command;
    order.task.slot = slot;
    order.mapping = mapping;
    order.done = [done](absl::StatusOr<Host::Done> said) {
      done->set_value(std::move(said));
    };
    host_->Send(std::move(order));
    return done->get_future();
  }
  // Takes the next order; nullopt if there is none.
  std::optional<proto::ProducerTask> Take() {
    proto::ProducerTask task;
    if (recv(theirs_.get(), &task, sizeof(task), MSG_DONTWAIT) <= 0)
      return std::nullopt;
    return task;
  }
  void Answer(const std::string& failure = {}) {
    const std::string said = AnswerOf(failure);
    ASSERT_GT(send(theirs_.get(), said.data(), said.size(), 0), 0);
  }
  // Lets the host's thread do what it has begun.
  void Settle() {
    std::promise<void> done;
    waiter_.Post([&] { done.set_value(); });
    done.get_future().wait();
  }

  base::FakeClock clock_;
  std::promise<void> gone_;
  AnswerWaiter waiter_;
  base::Fd theirs_;
  std::shared_ptr<Host> host_;
};

TEST_F(HostTest, OneOrderIsInFlightAtATime) {
  auto first = Send(ProducerCommand::kMapSlot, 1);
  auto second = Send(ProducerCommand::kFork, 0);
  EXPECT_EQ(Take()->command, ProducerCommand::kMapSlot);
  EXPECT_EQ(Take(), std::nullopt);
  Answer();
  EXPECT_TRUE(first.get().ok());
  EXPECT_EQ(Take()->command, ProducerCommand::kFork);
  Answer();
  const auto forked = second.get();
  ASSERT_TRUE(forked.ok());
  EXPECT_EQ(forked->mapped.size(), 1);
  EXPECT_EQ(forked->answer.cpu_nanos, 7);
}

TEST_F(HostTest, AStoppedProcessIsNoError) {
  auto order = Send(ProducerCommand::kMapSlot, 1);
  clock_.Advance(3600 * kSecond);
  Settle();
  EXPECT_EQ(order.wait_for(std::chrono::seconds(0)),
            std::future_status::timeout);
  Answer();
  EXPECT_TRUE(order.get().ok());
}

TEST_F(HostTest, TellsHowLongItIsSilent) {
  EXPECT_EQ(host_->SilentNanos(), 0);
  auto order = Send(ProducerCommand::kMapSlot, 1);
  clock_.Advance(5 * kSecond);
  EXPECT_EQ(host_->SilentNanos(), 3 * kSecond) << "nobody can see it yet";
  Answer();
  order.get().status().IgnoreError();
  EXPECT_EQ(host_->SilentNanos(), 0);
  EXPECT_EQ(host_->answered_at_nanos(), clock_.NowNanos());
  Send(ProducerCommand::kMapSlot, 2).wait_for(std::chrono::seconds(0));
  clock_.Advance(5 * kSecond);
  EXPECT_EQ(host_->SilentNanos(), 5 * kSecond);
  // The process is this one, which works.
  host_->Look();
  EXPECT_EQ(host_->SilentNanos(), 0);
}

TEST_F(HostTest, AsksWhetherItAnswersWhereNoOrderTells) {
  host_->Ping();
  host_->Ping();
  EXPECT_EQ(Take()->command, ProducerCommand::kPing);
  EXPECT_EQ(Take(), std::nullopt);
  Answer();
  while (host_->answered_at_nanos() == INT64_MIN) std::this_thread::yield();
  host_->Ping();
  EXPECT_EQ(Take()->command, ProducerCommand::kPing);
}

TEST_F(HostTest, WhatItCannotDoIsAnErrorOfThatOrder) {
  auto first = Send(ProducerCommand::kMapSlot, 1);
  auto second = Send(ProducerCommand::kFork, 0);
  Answer("no memory for it");
  EXPECT_TRUE(absl::IsResourceExhausted(first.get().status()));
  Answer();
  EXPECT_TRUE(second.get()->mapped.empty());
}

TEST_F(HostTest, AProcessThatIsGoneFailsAllOrders) {
  auto first = Send(ProducerCommand::kMapSlot, 1);
  auto second = Send(ProducerCommand::kFork, 0);
  theirs_.Close();
  gone_.get_future().wait();
  EXPECT_TRUE(absl::IsUnavailable(first.get().status()));
  EXPECT_TRUE(absl::IsUnavailable(second.get().status()));
  EXPECT_TRUE(
      absl::IsUnavailable(Send(ProducerCommand::kFork, 0).get().status()));
}

TEST_F(HostTest, ItsEndFailsAllOrdersAtOnce) {
  auto order = Send(ProducerCommand::kMapSlot, 1);
  host_->End();
  EXPECT_TRUE(absl::IsUnavailable(order.get().status()));
  EXPECT_TRUE(Take().has_value());
  char byte;
  EXPECT_EQ(recv(theirs_.get(), &byte, 1, MSG_DONTWAIT), 0) << "it may end";
}

TEST_F(HostTest, WhoAnswersUnaskedIsLeft) {
  Answer();
  gone_.get_future().wait();
  EXPECT_TRUE(
      absl::IsUnavailable(Send(ProducerCommand::kFork, 0).get().status()));
}

TEST_F(HostTest, WhatItHasMappedCountsUntilItHasUnmappedThat) {
  auto mapping = std::make_shared<Mapping>();
  const std::weak_ptr<Mapping> counted = mapping;
  auto map =
      Send(ProducerCommand::kMapSlot, 1, std::exchange(mapping, nullptr));
  Answer();
  map.get().status().IgnoreError();
  auto unmap = Send(ProducerCommand::kUnmapSlot, 1);
  Settle();
  EXPECT_FALSE(counted.expired());
  Answer();
  unmap.get().status().IgnoreError();
  Settle();
  EXPECT_TRUE(counted.expired());
}

TEST_F(HostTest, WhatItHasMappedCountsUntilItIsGone) {
  auto known = std::make_shared<Mapping>();
  auto unsure = std::make_shared<Mapping>();
  const std::weak_ptr<Mapping> counted = known;
  const std::weak_ptr<Mapping> also_counted = unsure;
  auto map = Send(ProducerCommand::kMapSlot, 1, std::exchange(known, nullptr));
  Answer();
  map.get().status().IgnoreError();
  auto late =
      Send(ProducerCommand::kMapSlot, 2, std::exchange(unsure, nullptr));
  host_->End();
  late.get().status().IgnoreError();
  host_ = nullptr;
  Settle();
  EXPECT_FALSE(counted.expired());
  EXPECT_FALSE(also_counted.expired()) << "it may have mapped that";
  theirs_.Close();
  while (!counted.expired() || !also_counted.expired())
    std::this_thread::yield();
}

}  // namespace
}  // namespace forebay::producer
