// Producers that are processes, which signals stop.

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "proto/producer_socket.h"
#include "server/arena/shared_memory.h"
#include "server/base/clock.h"
#include "server/base/fd.h"
#include "server/base/process.h"
#include "server/producer/answer_waiter.h"
#include "server/producer/memory_watch.h"
#include "server/producer/producer_set.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/producer/fake_host.h"

namespace forebay::producer {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::int64_t kSecond = 1'000'000'000;

// Sends an answer, and a descriptor unless that is -1.
bool SendAnswer(int socket, int fd) {
  std::string said = AnswerOf();
  struct iovec data = {.iov_base = said.data(), .iov_len = said.size()};
  struct msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    struct cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) > 0;
}

// Receives a task, and the descriptor that comes with it.
std::optional<std::pair<proto::ProducerTask, base::Fd>> Receive(int socket) {
  proto::ProducerTask task;
  alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  struct iovec data = {.iov_base = &task, .iov_len = sizeof(task)};
  struct msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (recvmsg(socket, &message, 0) <= 0) return std::nullopt;
  base::Fd fd;
  if (const struct cmsghdr* const header = CMSG_FIRSTHDR(&message)) {
    int received;
    std::memcpy(&received, CMSG_DATA(header), sizeof(received));
    fd = base::Fd(received);
  }
  return std::pair(task, std::move(fd));
}

base::Fd PidfdOf(pid_t pid) {
  return base::Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

// A host answers no order to fork a producer of this number, and none later: it
// wakes now and then.
constexpr std::uint32_t kNaps = 7;

// A host in a process of its own, whose producers answer nothing.
class ForkingHost {
 public:
  explicit ForkingHost(base::Fd socket) {
    pid_ = fork();
    if (pid_ == 0) Serve(socket.get());
  }
  ~ForkingHost() {
    kill(pid_, SIGCONT);
    waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }

 private:
  [[noreturn]] static void Serve(int socket) {
    while (auto task = Receive(socket)) {
      base::Fd pidfd;
      if (task->first.command == proto::ProducerCommand::kMapSlot) {
        pidfd = PidfdOf(getpid());
      } else if (task->first.command == proto::ProducerCommand::kFork) {
        while (task->first.slot == kNaps && kill(getppid(), 0) == 0)
          poll(nullptr, 0, 1);
        const pid_t pid = fork();
        if (pid == 0) {
          close(socket);
          while (Receive(task->second.get())) {
          }
          _exit(0);
        }
        pidfd = PidfdOf(pid);
      }
      SendAnswer(socket, pidfd.get());
    }
    _exit(0);
  }

  pid_t pid_;
};

class StoppedProducerTest {
 protected:
  StoppedProducerTest() : host_(*set_->Start(2, "job a")) {}
  ~StoppedProducerTest() { set_->End(); }

  ProducerPtr Take() { return TakeLater().get(); }
  // Null: the host was gone before.
  std::future<ProducerPtr> TakeLater(
      std::optional<std::uint32_t> number = std::nullopt) {
    const auto promise = std::make_shared<std::promise<ProducerPtr>>();
    auto idle = set_->Take(number, [promise](auto taken) {
      promise->set_value(taken.ok() ? *std::move(taken) : nullptr);
    });
    if (*idle != nullptr) promise->set_value(*idle);
    return promise->get_future();
  }
  void StopHost() {
    kill(host_.pid(), SIGSTOP);
    REQUIRE(waitpid(host_.pid(), nullptr, WUNTRACED) == host_.pid());
  }
  // Lets producers write memory, and waits until the host has it mapped.
  SharedSlot Share(const arena::SharedMemory& memory) {
    std::promise<SharedSlot> shared;
    set_->Share(
        {.fd = memory.fd(), .data = memory.data(), .bytes = memory.bytes()},
        [&](auto slot) { shared.set_value(*std::move(slot)); });
    return shared.get_future().get();
  }
  // Gives it a task.
  void Begin(Producer& producer) {
    producer.Begin(clock_.NowNanos(), false);
    CHECK_THAT(
        producer.socket.Ask({.command = proto::ProducerCommand::kMake}, {}, -1),
        IsOk());
  }
  // Looks for some seconds, as long as the host answers what it is asked.
  void LookFor(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      clock_.Advance(kSecond);
      set_->Look({.is_awaited = true});
      clock_.Advance(1);
      while (set_->SilentNanos() > 0) std::this_thread::yield();
    }
  }
  static void Stop(const Producer& producer) {
    kill(producer.process()->pid(), SIGSTOP);
    while (!producer.process()->IsStopped()) std::this_thread::yield();
  }

  base::FakeClock clock_;
  AnswerWaiter waiter_{&clock_};
  MemoryWatch memory_{std::uint64_t{1} << 40};
  const std::shared_ptr<ProducerSet> set_ = ProducerSet::Create(
      {64}, "data", {.waiter = &waiter_, .clock = &clock_, .memory = &memory_});
  ForkingHost host_;
};

TEST_CASE_METHOD(StoppedProducerTest,
                 "A stopped producer is killed so that another may do its task",
                 "[producer][stopped_producer]") {
  const ProducerPtr producer = Take();
  REQUIRE(producer->process() != nullptr);
  Begin(*producer);
  Stop(*producer);
  LookFor(4);
  CHECK(producer->stall() == Stall::kStopped);
  CHECK_THAT(producer->socket.Await(-1),
             HasCode(absl::StatusCode::kUnavailable));
  std::promise<void> gone;
  waiter_.Watch(producer->process()->fd(), [&] {
    gone.set_value();
    return true;
  });
  gone.get_future().wait();
  set_->GiveBack(producer, false);
  CHECK(Take()->number() == 0);
}

TEST_CASE_METHOD(
    StoppedProducerTest,
    "A stopped producer is left alone where its host is stopped too",
    "[producer][stopped_producer]") {
  const ProducerPtr producer = Take();
  Begin(*producer);
  Stop(*producer);
  StopHost();
  for (int i = 0; i < 100; ++i) {
    clock_.Advance(kSecond);
    set_->Look({.is_awaited = true});
  }
  CHECK(producer->stall() == std::nullopt);
  CHECK(set_->SilentNanos() > 90 * kSecond);
  CHECK_FALSE(set_->ended());
  kill(producer->process()->pid(), SIGCONT);
  kill(host_.pid(), SIGCONT);
  while (set_->SilentNanos() > 0) std::this_thread::yield();
}

TEST_CASE_METHOD(
    StoppedProducerTest,
    "Idle producers go to callers that wait for a host that is stopped",
    "[producer][stopped_producer]") {
  ProducerPtr first = Take();
  StopHost();
  std::future<ProducerPtr> second = TakeLater();
  set_->GiveBack(std::exchange(first, nullptr), true);
  CHECK(second.wait_for(std::chrono::seconds(0)) ==
        std::future_status::timeout);
  clock_.Advance(kSecond);
  set_->Look({});
  CHECK(second.get()->number() == 0);
}

TEST_CASE_METHOD(StoppedProducerTest,
                 "A host that only wakes now and then counts as silent",
                 "[producer][stopped_producer]") {
  const ProducerPtr first = Take();
  const std::future<ProducerPtr> second = TakeLater(kNaps);
  for (int i = 0; i < 5; ++i) {
    const std::int64_t before = base::ProcessCpuNanos(host_.pid());
    clock_.Advance(kSecond);
    set_->Look({});
    while (base::ProcessCpuNanos(host_.pid()) == before)
      std::this_thread::yield();
  }
  CHECK(set_->SilentNanos() >= 3 * kSecond);
  kill(host_.pid(), SIGKILL);
  first->socket.End();
}

TEST_CASE_METHOD(StoppedProducerTest,
                 "A sleeping producer is killed once others work",
                 "[producer][stopped_producer]") {
  const ProducerPtr sleeper = Take();
  const ProducerPtr other = Take();
  Begin(*sleeper);
  LookFor(70);
  CHECK(sleeper->stall() == std::nullopt);
  set_->GiveBack(other, true);
  // It may take its task late.
  while (!sleeper->stall().has_value()) LookFor(1);
  CHECK(sleeper->stall() == Stall::kAsleep);
}

TEST_CASE_METHOD(StoppedProducerTest, "A host that does not end is killed",
                 "[producer][stopped_producer]") {
  const arena::SharedMemory memory =
      *arena::SharedMemory::CreateUnsealed("forebay-test", 4096);
  const SharedSlot shared = Share(memory);
  StopHost();
  set_->End();
  clock_.Advance(11 * kSecond);
  siginfo_t end = {};
  REQUIRE(waitid(P_PID, static_cast<id_t>(host_.pid()), &end,
                 WEXITED | WNOWAIT) == 0);
  CHECK(end.si_code == CLD_KILLED);
  CHECK(end.si_status == SIGKILL);
}

TEST_CASE_METHOD(StoppedProducerTest,
                 "An idle producer that does not end is killed",
                 "[producer][stopped_producer]") {
  ProducerPtr producer = Take();
  Stop(*producer);
  // With it, memory goes that it may have mapped.
  const std::weak_ptr<Producer> counted = producer;
  arena::SharedMemory memory =
      *arena::SharedMemory::CreateUnsealed("forebay-test", 4096);
  const SharedSlot shared = Share(memory);
  set_->GiveBack(std::exchange(producer, nullptr), true);
  CHECK_FALSE(counted.expired());
  // Nobody needs to look: the stream may have left.
  set_->End();
  clock_.Advance(11 * kSecond);
  while (!counted.expired()) std::this_thread::yield();
}

}  // namespace
}  // namespace forebay::producer
