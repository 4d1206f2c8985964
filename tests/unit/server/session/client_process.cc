#include "tests/unit/server/session/client_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "tests/catch/catch.h"
#include "tests/catch/child.h"

namespace forebay::session {

ClientProcess::ClientProcess(const std::function<void()>& act) {
  int fds[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
  channel_ = base::Fd(fds[0]);
  base::Fd child_end(fds[1]);
  pid_ = fork();
  CHECK(pid_ >= 0);
  if (pid_ != 0) return;

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  channel_.Close();
  char byte = 0;
  if (read(child_end.get(), &byte, 1) != 1) _exit(EXIT_FAILURE);
  if (!tests::HoldsInChild(act)) _exit(EXIT_FAILURE);
  if (write(child_end.get(), &byte, 1) != 1) _exit(EXIT_FAILURE);
  while (true) pause();
}

ClientProcess::~ClientProcess() { Kill(); }

void ClientProcess::Begin() {
  const char byte = 1;
  CHECK(write(channel_.get(), &byte, 1) == 1);
}

bool ClientProcess::AwaitDone() {
  char byte = 0;
  return read(channel_.get(), &byte, 1) == 1;
}

void ClientProcess::Kill() {
  const pid_t pid = std::exchange(pid_, -1);
  if (pid <= 0) return;
  kill(pid, SIGKILL);
  CHECK(waitpid(pid, nullptr, 0) == pid);
}

}  // namespace forebay::session
