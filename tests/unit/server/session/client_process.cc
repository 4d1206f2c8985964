#include "tests/unit/server/session/client_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace forebay::session {

ClientProcess::ClientProcess(const std::function<void()>& act) {
  int fds[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  channel_ = base::Fd(fds[0]);
  base::Fd child_end(fds[1]);
  pid_ = fork();
  EXPECT_GE(pid_, 0);
  if (pid_ != 0) return;

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  channel_.Close();
  char byte = 0;
  if (read(child_end.get(), &byte, 1) != 1) _exit(EXIT_FAILURE);
  act();
  if (testing::Test::HasFailure()) _exit(EXIT_FAILURE);
  if (write(child_end.get(), &byte, 1) != 1) _exit(EXIT_FAILURE);
  while (true) pause();
}

ClientProcess::~ClientProcess() { Kill(); }

void ClientProcess::Begin() {
  const char byte = 1;
  EXPECT_EQ(write(channel_.get(), &byte, 1), 1);
}

bool ClientProcess::AwaitDone() {
  char byte = 0;
  return read(channel_.get(), &byte, 1) == 1;
}

void ClientProcess::Kill() {
  const pid_t pid = std::exchange(pid_, -1);
  if (pid <= 0) return;
  kill(pid, SIGKILL);
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
}

}  // namespace forebay::session
