// Tests of workers that are processes and are stopped by signals.

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

#include "proto/worker_socket.h"
#include "server/base/clock.h"
#include "server/base/fd.h"
#include "server/base/process.h"
#include "server/slots/shared_memory.h"
#include "server/worker/answer_waiter.h"
#include "server/worker/memory_watch.h"
#include "server/worker/worker_set.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/worker/fake_worker_pool.h"

namespace forebay::worker {
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
std::optional<std::pair<proto::WorkerTask, base::Fd>> Receive(int socket) {
  proto::WorkerTask task;
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

// The number of a worker that is never forked. The worker pool then answers no
// order, and wakes from time to time.
constexpr std::uint32_t kNaps = 7;

// A worker pool in a process of its own, whose workers never answer.
class ForkingPool {
 public:
  explicit ForkingPool(base::Fd socket) {
    pid_ = fork();
    if (pid_ == 0) Serve(socket.get());
  }
  ~ForkingPool() {
    kill(pid_, SIGCONT);
    waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }

 private:
  [[noreturn]] static void Serve(int socket) {
    while (auto task = Receive(socket)) {
      base::Fd pidfd;
      if (task->first.command == proto::WorkerCommand::kMapSlot) {
        pidfd = PidfdOf(getpid());
      } else if (task->first.command == proto::WorkerCommand::kFork) {
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

class StoppedWorkerTest {
 protected:
  StoppedWorkerTest() : pool_(*set_->Start(2, "job a")) {}
  ~StoppedWorkerTest() { set_->End(); }

  WorkerPtr Take() { return TakeLater().get(); }
  // Takes a worker once there is one. The result is null if the worker pool
  // ends before.
  std::future<WorkerPtr> TakeLater(
      std::optional<std::uint32_t> number = std::nullopt) {
    const auto promise = std::make_shared<std::promise<WorkerPtr>>();
    auto idle = set_->Take(number, [promise](auto taken) {
      promise->set_value(taken.ok() ? *std::move(taken) : nullptr);
    });
    if (*idle != nullptr) promise->set_value(*idle);
    return promise->get_future();
  }
  void StopPool() {
    kill(pool_.pid(), SIGSTOP);
    REQUIRE(waitpid(pool_.pid(), nullptr, WUNTRACED) == pool_.pid());
  }
  // Lets workers write to memory, and waits until the worker pool has mapped
  // it.
  SharedSlot Share(const slots::SharedMemory& memory) {
    std::promise<SharedSlot> shared;
    set_->Share(
        {.fd = memory.fd(), .data = memory.data(), .bytes = memory.bytes()},
        [&](auto slot) { shared.set_value(*std::move(slot)); });
    return shared.get_future().get();
  }
  // Gives the worker a task.
  void Begin(Worker& worker) {
    worker.Begin(clock_.NowNanos(), false);
    CHECK_THAT(
        worker.socket.Ask({.command = proto::WorkerCommand::kMake}, {}, -1),
        IsOk());
  }
  // Calls Look() for some seconds, as long as the worker pool answers orders.
  void LookFor(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      clock_.Advance(kSecond);
      set_->Look({.is_awaited = true});
      clock_.Advance(1);
      while (set_->SilentNanos() > 0) std::this_thread::yield();
    }
  }
  static void Stop(const Worker& worker) {
    kill(worker.process()->pid(), SIGSTOP);
    while (!worker.process()->IsStopped()) std::this_thread::yield();
  }

  base::FakeClock clock_;
  AnswerWaiter waiter_{&clock_};
  MemoryWatch memory_{std::uint64_t{1} << 40};
  const std::shared_ptr<WorkerSet> set_ = WorkerSet::Create(
      {64}, "data", {.waiter = &waiter_, .clock = &clock_, .memory = &memory_});
  ForkingPool pool_;
};

TEST_CASE_METHOD(StoppedWorkerTest,
                 "A stopped worker is killed so that another may do its task",
                 "[worker][stopped_worker]") {
  const WorkerPtr worker = Take();
  REQUIRE(worker->process() != nullptr);
  Begin(*worker);
  Stop(*worker);
  LookFor(4);
  CHECK(worker->stall() == Stall::kStopped);
  CHECK_THAT(worker->socket.Await(-1), HasCode(absl::StatusCode::kUnavailable));
  std::promise<void> gone;
  waiter_.Watch(worker->process()->fd(), [&] {
    gone.set_value();
    return true;
  });
  gone.get_future().wait();
  set_->GiveBack(worker, false);
  CHECK(Take()->number() == 0);
}

TEST_CASE_METHOD(
    StoppedWorkerTest,
    "A stopped worker is left alone where its worker pool is stopped too",
    "[worker][stopped_worker]") {
  const WorkerPtr worker = Take();
  Begin(*worker);
  Stop(*worker);
  StopPool();
  for (int i = 0; i < 100; ++i) {
    clock_.Advance(kSecond);
    set_->Look({.is_awaited = true});
  }
  CHECK(worker->stall() == std::nullopt);
  CHECK(set_->SilentNanos() > 90 * kSecond);
  CHECK_FALSE(set_->ended());
  kill(worker->process()->pid(), SIGCONT);
  kill(pool_.pid(), SIGCONT);
  while (set_->SilentNanos() > 0) std::this_thread::yield();
}

TEST_CASE_METHOD(
    StoppedWorkerTest,
    "Idle workers go to callers that wait for a worker pool that is stopped",
    "[worker][stopped_worker]") {
  WorkerPtr first = Take();
  StopPool();
  std::future<WorkerPtr> second = TakeLater();
  set_->GiveBack(std::exchange(first, nullptr), true);
  CHECK(second.wait_for(std::chrono::seconds(0)) ==
        std::future_status::timeout);
  clock_.Advance(kSecond);
  set_->Look({});
  CHECK(second.get()->number() == 0);
}

TEST_CASE_METHOD(StoppedWorkerTest,
                 "A worker pool that only wakes now and then counts as silent",
                 "[worker][stopped_worker]") {
  const WorkerPtr first = Take();
  const std::future<WorkerPtr> second = TakeLater(kNaps);
  for (int i = 0; i < 5; ++i) {
    const std::int64_t before = base::ProcessCpuNanos(pool_.pid());
    clock_.Advance(kSecond);
    set_->Look({});
    while (base::ProcessCpuNanos(pool_.pid()) == before)
      std::this_thread::yield();
  }
  CHECK(set_->SilentNanos() >= 3 * kSecond);
  kill(pool_.pid(), SIGKILL);
  first->socket.End();
}

TEST_CASE_METHOD(StoppedWorkerTest,
                 "A sleeping worker is killed once others work",
                 "[worker][stopped_worker]") {
  const WorkerPtr sleeper = Take();
  const WorkerPtr other = Take();
  Begin(*sleeper);
  LookFor(70);
  CHECK(sleeper->stall() == std::nullopt);
  set_->GiveBack(other, true);
  // The sleeper may have taken its task late, so the test waits until it counts
  // as stalled.
  while (!sleeper->stall().has_value()) LookFor(1);
  CHECK(sleeper->stall() == Stall::kAsleep);
}

TEST_CASE_METHOD(StoppedWorkerTest, "A worker pool that does not end is killed",
                 "[worker][stopped_worker]") {
  const slots::SharedMemory memory =
      *slots::SharedMemory::CreateUnsealed("forebay-test", 4096);
  const SharedSlot shared = Share(memory);
  StopPool();
  set_->End();
  clock_.Advance(11 * kSecond);
  siginfo_t end = {};
  REQUIRE(waitid(P_PID, static_cast<id_t>(pool_.pid()), &end,
                 WEXITED | WNOWAIT) == 0);
  CHECK(end.si_code == CLD_KILLED);
  CHECK(end.si_status == SIGKILL);
}

TEST_CASE_METHOD(StoppedWorkerTest,
                 "An idle worker that does not end is killed",
                 "[worker][stopped_worker]") {
  WorkerPtr worker = Take();
  Stop(*worker);
  // Memory that the worker may have mapped is released with the worker.
  const std::weak_ptr<Worker> counted = worker;
  slots::SharedMemory memory =
      *slots::SharedMemory::CreateUnsealed("forebay-test", 4096);
  const SharedSlot shared = Share(memory);
  set_->GiveBack(std::exchange(worker, nullptr), true);
  CHECK_FALSE(counted.expired());
  // No call of Look() is needed: the stream may have left.
  set_->End();
  clock_.Advance(11 * kSecond);
  while (!counted.expired()) std::this_thread::yield();
}

}  // namespace
}  // namespace forebay::worker
