#include "server/producer/host.h"

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
#include "tests/unit/server/producer/fake_host.h"

namespace forebay::producer {
namespace {

using tests::HasCode;
using tests::IsOk;

using proto::ProducerCommand;

constexpr std::int64_t kSecond = 1'000'000'000;

class HostTest {
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
    REQUIRE(send(theirs_.get(), said.data(), said.size(), 0) > 0);
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

TEST_CASE_METHOD(HostTest, "A host has one order in flight at a time",
                 "[producer][host]") {
  auto first = Send(ProducerCommand::kMapSlot, 1);
  auto second = Send(ProducerCommand::kFork, 0);
  CHECK(Take()->command == ProducerCommand::kMapSlot);
  CHECK(Take() == std::nullopt);
  Answer();
  CHECK_THAT(first.get(), IsOk());
  CHECK(Take()->command == ProducerCommand::kFork);
  Answer();
  const auto forked = second.get();
  REQUIRE_THAT(forked, IsOk());
  CHECK(forked->mapped.size() == 1);
  CHECK(forked->answer.cpu_nanos == 7);
}

TEST_CASE_METHOD(HostTest,
                 "A host's stopped process is not an error of its orders",
                 "[producer][host]") {
  auto order = Send(ProducerCommand::kMapSlot, 1);
  clock_.Advance(3600 * kSecond);
  Settle();
  CHECK(order.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  Answer();
  CHECK_THAT(order.get(), IsOk());
}

TEST_CASE_METHOD(HostTest, "A host tells how long it is silent",
                 "[producer][host]") {
  CHECK(host_->SilentNanos() == 0);
  auto order = Send(ProducerCommand::kMapSlot, 1);
  clock_.Advance(5 * kSecond);
  UNSCOPED_INFO("nobody can see it yet");
  CHECK(host_->SilentNanos() == 3 * kSecond);
  Answer();
  order.get().status().IgnoreError();
  CHECK(host_->SilentNanos() == 0);
  CHECK(host_->answered_at_nanos() == clock_.NowNanos());
  Send(ProducerCommand::kMapSlot, 2).wait_for(std::chrono::seconds(0));
  clock_.Advance(5 * kSecond);
  CHECK(host_->SilentNanos() == 5 * kSecond);
  // The process is this one, which works.
  host_->Look();
  CHECK(host_->SilentNanos() == 0);
}

TEST_CASE_METHOD(HostTest,
                 "A host is asked whether it answers where no order tells",
                 "[producer][host]") {
  host_->Ping();
  host_->Ping();
  CHECK(Take()->command == ProducerCommand::kPing);
  CHECK(Take() == std::nullopt);
  Answer();
  while (host_->answered_at_nanos() == INT64_MIN) std::this_thread::yield();
  host_->Ping();
  CHECK(Take()->command == ProducerCommand::kPing);
}

TEST_CASE_METHOD(HostTest,
                 "What a host cannot do is an error of that order alone",
                 "[producer][host]") {
  auto first = Send(ProducerCommand::kMapSlot, 1);
  auto second = Send(ProducerCommand::kFork, 0);
  Answer("no memory for it");
  CHECK_THAT(first.get(), HasCode(absl::StatusCode::kResourceExhausted));
  Answer();
  CHECK(second.get()->mapped.empty());
}

TEST_CASE_METHOD(HostTest, "A host whose process is gone fails all orders",
                 "[producer][host]") {
  auto first = Send(ProducerCommand::kMapSlot, 1);
  auto second = Send(ProducerCommand::kFork, 0);
  theirs_.Close();
  gone_.get_future().wait();
  CHECK_THAT(first.get(), HasCode(absl::StatusCode::kUnavailable));
  CHECK_THAT(second.get(), HasCode(absl::StatusCode::kUnavailable));
  CHECK_THAT(Send(ProducerCommand::kFork, 0).get(),
             HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE_METHOD(HostTest, "A host's end fails all orders at once",
                 "[producer][host]") {
  auto order = Send(ProducerCommand::kMapSlot, 1);
  host_->End();
  CHECK_THAT(order.get(), HasCode(absl::StatusCode::kUnavailable));
  CHECK(Take().has_value());
  char byte;
  UNSCOPED_INFO("it may end");
  CHECK(recv(theirs_.get(), &byte, 1, MSG_DONTWAIT) == 0);
}

TEST_CASE_METHOD(HostTest, "A host that answers unasked is given up",
                 "[producer][host]") {
  Answer();
  gone_.get_future().wait();
  CHECK_THAT(Send(ProducerCommand::kFork, 0).get(),
             HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE_METHOD(HostTest,
                 "What a host has mapped counts until the host has unmapped it",
                 "[producer][host]") {
  auto mapping = std::make_shared<Mapping>();
  const std::weak_ptr<Mapping> counted = mapping;
  auto map =
      Send(ProducerCommand::kMapSlot, 1, std::exchange(mapping, nullptr));
  Answer();
  map.get().status().IgnoreError();
  auto unmap = Send(ProducerCommand::kUnmapSlot, 1);
  Settle();
  CHECK_FALSE(counted.expired());
  Answer();
  unmap.get().status().IgnoreError();
  Settle();
  CHECK(counted.expired());
}

TEST_CASE_METHOD(HostTest,
                 "What a host has mapped counts until the host is gone",
                 "[producer][host]") {
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
  CHECK_FALSE(counted.expired());
  UNSCOPED_INFO("it may have mapped that");
  CHECK_FALSE(also_counted.expired());
  theirs_.Close();
  while (!counted.expired() || !also_counted.expired())
    std::this_thread::yield();
}

}  // namespace
}  // namespace forebay::producer
