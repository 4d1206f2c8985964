#include "server/worker/worker_process.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>

#include "server/base/fd.h"
#include "server/base/process.h"
#include "tests/catch/catch.h"
#include "tests/catch/skip.h"

namespace forebay::worker {
namespace {

using Catch::WithinAbs;

constexpr std::size_t kMib = std::size_t{1} << 20;

base::Fd PidfdOf(pid_t pid) {
  return base::Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

// Allocates memory, and touches all its pages.
char* Take(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(memory, 1, bytes);
  return static_cast<char*>(memory);
}

// A child that goes to its next step at each byte that it receives.
class ProcessTest {
 protected:
  ProcessTest() : shared_(Take(64 * kMib)) {
    int there[2];
    int back[2];
    CHECK((pipe(there) | pipe(back)) == 0);
    pid_ = fork();
    if (pid_ == 0) Live(there[0], back[1]);
    to_ = base::Fd(there[1]);
    from_ = base::Fd(back[0]);
    close(there[0]);
    close(back[1]);
    process_ = OpenProcess(PidfdOf(pid_), getpid());
  }
  ~ProcessTest() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    munmap(shared_, 64 * kMib);
  }

  void Step() {
    char byte = 0;
    REQUIRE(write(to_.get(), &byte, 1) == 1);
    REQUIRE(read(from_.get(), &byte, 1) == 1);
  }

  pid_t pid_;
  std::unique_ptr<Process> process_;

 private:
  [[noreturn]] void Live(int from, int to) const {
    char byte;
    for (int step = 0; read(from, &byte, 1) == 1; ++step) {
      if (step == 0) Take(32 * kMib);
      if (step == 1) std::memset(shared_, 2, 16 * kMib);
      if (write(to, &byte, 1) != 1) break;
    }
    _exit(0);
  }

  char* const shared_;
  base::Fd to_;
  base::Fd from_;
};

TEST_CASE_METHOD(ProcessTest, "A process tells how much memory it has",
                 "[worker][process]") {
#ifdef _GLIBCXX_TSAN
  SKIP("TSan's shadow memory is the process's own, too");
#endif
  REQUIRE(process_ != nullptr);
  CHECK(process_->pid() == pid_);
  const std::uint64_t anonymous = *process_->AnonymousBytes();
  const std::uint64_t own = *process_->PrivateBytes();
  UNSCOPED_INFO("its parent's, too");
  CHECK(anonymous >= 64 * kMib);
  CHECK(own < 16 * kMib);
  Step();
  CHECK_THAT(*process_->AnonymousBytes() - anonymous,
             WithinAbs(32 * kMib, kMib));
  CHECK_THAT(*process_->PrivateBytes() - own, WithinAbs(32 * kMib, kMib));
  Step();
  CHECK_THAT(*process_->AnonymousBytes() - anonymous,
             WithinAbs(32 * kMib, kMib));
  CHECK_THAT(*process_->PrivateBytes() - own, WithinAbs(48 * kMib, kMib));
}

// Forks a child that uses CPU time, on one CPU for all such children.
pid_t ForkBusy() {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof(cpus), &cpus);
  int first = 0;
  while (!CPU_ISSET(first, &cpus)) ++first;
  CPU_ZERO(&cpus);
  CPU_SET(first, &cpus);
  sched_setaffinity(0, sizeof(cpus), &cpus);
  for (;;) {
  }
}

TEST_CASE_METHOD(ProcessTest, "A process tells how long it waits for a core",
                 "[worker][process]") {
  const pid_t pids[] = {ForkBusy(), ForkBusy()};
  const auto busy = OpenProcess(PidfdOf(pids[0]), getpid());
  while (base::IsProcessRunnable(pid_)) {  // it soon waits for a byte
  }
  const std::int64_t asleep = *process_->RunQueueNanos();
  const std::int64_t before = *busy->RunQueueNanos();
  while (*busy->RunQueueNanos() < before + 10'000'000) {
  }
  CHECK(*process_->RunQueueNanos() == asleep);
  for (const pid_t pid : pids) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  UNSCOPED_INFO("it is gone");
  CHECK_FALSE(busy->RunQueueNanos().has_value());
}

TEST_CASE_METHOD(ProcessTest, "A process that is killed has no memory left",
                 "[worker][process]") {
  process_->Kill();
  siginfo_t info = {};
  REQUIRE(waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) ==
          0);
  CHECK(info.si_status == SIGKILL);
  UNSCOPED_INFO("it has none");
  CHECK_FALSE(process_->AnonymousBytes().has_value());
  REQUIRE(waitpid(pid_, nullptr, 0) == pid_);
  UNSCOPED_INFO("it is gone");
  CHECK_FALSE(process_->AnonymousBytes().has_value());
  CHECK_FALSE(process_->PrivateBytes().has_value());
  process_->Kill();
}

TEST_CASE_METHOD(ProcessTest,
                 "A worker's process must be a child of the worker pool",
                 "[worker][process]") {
  CHECK(OpenProcess(PidfdOf(pid_), getppid()) == nullptr);
  CHECK(OpenProcess(PidfdOf(pid_), 0) == nullptr);
  CHECK(OpenProcess(PidfdOf(getpid()), getpid()) == nullptr);
  CHECK(OpenProcess(base::Fd(), getpid()) == nullptr);
  CHECK(OpenProcess(base::Fd(dup(STDERR_FILENO)), getpid()) == nullptr);
}

TEST_CASE_METHOD(ProcessTest, "A process must be the one that says so",
                 "[worker][process]") {
  CHECK(OpenOwnProcess(PidfdOf(pid_), pid_)->pid() == pid_);
  CHECK(OpenOwnProcess(PidfdOf(pid_), getpid()) == nullptr);
  CHECK(OpenOwnProcess(PidfdOf(pid_), 0) == nullptr);
  CHECK(OpenOwnProcess(base::Fd(), pid_) == nullptr);
  CHECK(OpenOwnProcess(base::Fd(dup(STDERR_FILENO)), pid_) == nullptr);
}

}  // namespace
}  // namespace forebay::worker
