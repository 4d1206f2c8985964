#include "server/session/peer.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/base/fd.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::session {
namespace {

using tests::IsOk;

base::Fd OpenPidfd(pid_t pid) {
  return base::Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

TEST_CASE("The peer of a socket is whoever made the socket",
          "[session][peer]") {
  int fds[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
  const base::Fd a(fds[0]);
  const base::Fd b(fds[1]);
  const auto peer = PeerOf(a.get());
  REQUIRE_THAT(peer, IsOk());
  CHECK(peer->uid == geteuid());
  CHECK(peer->pid == static_cast<std::uint32_t>(getpid()));
  CHECK_FALSE(PeerOf(-1).ok());
}

TEST_CASE("A peer's pidfd is taken only if it is that of the peer's process",
          "[session][peer]") {
  const base::Fd own = OpenPidfd(getpid());
  CHECK_THAT(CheckPidfd(own.get(), getpid()), IsOk());
  CHECK_FALSE(CheckPidfd(own.get(), getpid() + 1).ok());
  const base::Fd parent = OpenPidfd(getppid());
  CHECK_FALSE(CheckPidfd(parent.get(), getpid()).ok());
  const base::Fd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK_FALSE(CheckPidfd(file.get(), getpid()).ok());
  CHECK_FALSE(CheckPidfd(-1, getpid()).ok());
}

TEST_CASE("A peer's pipe is told from all other descriptors",
          "[session][peer]") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const base::Fd read_end(ends[0]);
  const base::Fd write_end(ends[1]);
  CHECK_THAT(CheckPipe(read_end.get()), IsOk());
  const base::Fd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK_FALSE(CheckPipe(file.get()).ok());
  CHECK_FALSE(CheckPipe(OpenPidfd(getpid()).get()).ok());
  CHECK_FALSE(CheckPipe(-1).ok());
}

TEST_CASE("A pidfd of a dead process is not taken from a peer",
          "[session][peer]") {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  const base::Fd pidfd = OpenPidfd(child);
  waitpid(child, nullptr, 0);
  CHECK_FALSE(CheckPidfd(pidfd.get(), child).ok());
}

}  // namespace
}  // namespace forebay::session
