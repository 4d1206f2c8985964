#include "server/base/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace forebay::base {
namespace {

// A child process, which computes or waits for a signal.
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

TEST(ProcessTest, OneThatComputesIsRunnable) {
  const Child child(/*computes=*/true);
  while (!IsProcessRunnable(child.pid())) {
  }
  const std::int64_t before = ProcessCpuNanos(child.pid());
  EXPECT_GE(before, 0);
  while (ProcessCpuNanos(child.pid()) == before) {
  }
}

TEST(ProcessTest, OneThatWaitsIsNot) {
  const Child child(/*computes=*/false);
  while (IsProcessRunnable(child.pid())) {
  }
  EXPECT_GE(ProcessCpuNanos(child.pid()), 0);
}

TEST(ProcessTest, NothingIsToldOfNone) {
  pid_t gone;
  { gone = Child(false).pid(); }
  for (const pid_t pid : {gone, pid_t{0}, pid_t{-1}}) {
    EXPECT_FALSE(IsProcessRunnable(pid));
    EXPECT_EQ(ProcessCpuNanos(pid), -1);
  }
}

}  // namespace
}  // namespace forebay::base
