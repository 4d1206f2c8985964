#include "server/base/process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/catch/catch.h"

namespace forebay::base {
namespace {

// A child process that uses CPU time, or waits for a signal.
class Child {
 public:
  explicit Child(bool computes) : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "a) R (b");
    for (;;) {
      if (!computes) pause();
    }
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  const pid_t pid_;
};

TEST_CASE("A process that computes is runnable", "[base][process]") {
  const Child child(/*computes=*/true);
  while (!IsProcessRunnable(child.pid())) {
  }
  const std::int64_t before = ProcessCpuNanos(child.pid());
  CHECK(before >= 0);
  while (ProcessCpuNanos(child.pid()) == before) {
  }
}

TEST_CASE("A process that waits is not runnable", "[base][process]") {
  const Child child(/*computes=*/false);
  while (IsProcessRunnable(child.pid())) {
  }
  CHECK(ProcessCpuNanos(child.pid()) >= 0);
}

TEST_CASE("Nothing is told of a process that does not exist",
          "[base][process]") {
  pid_t gone;
  { gone = Child(false).pid(); }
  for (const pid_t pid : {gone, pid_t{0}, pid_t{-1}}) {
    CHECK_FALSE(IsProcessRunnable(pid));
    CHECK(ProcessCpuNanos(pid) == -1);
  }
}

}  // namespace
}  // namespace forebay::base
