#include "server/session/peer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/base/fd.h"

namespace forebay::session {
namespace {

base::Fd OpenPidfd(pid_t pid) {
  return base::Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

TEST(PeerTest, IsWhoeverMadeTheSocket) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
  const base::Fd a(fds[0]);
  const base::Fd b(fds[1]);
  const auto peer = PeerOf(a.get());
  ASSERT_TRUE(peer.ok()) << peer.status();
  EXPECT_EQ(peer->uid, geteuid());
  EXPECT_EQ(peer->pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_FALSE(PeerOf(-1).ok());
}

TEST(PeerTest, TakesOnlyAPidfdOfThatProcess) {
  const base::Fd own = OpenPidfd(getpid());
  EXPECT_TRUE(CheckPidfd(own.get(), getpid()).ok());
  EXPECT_FALSE(CheckPidfd(own.get(), getpid() + 1).ok());
  const base::Fd parent = OpenPidfd(getppid());
  EXPECT_FALSE(CheckPidfd(parent.get(), getpid()).ok());
  const base::Fd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(CheckPidfd(file.get(), getpid()).ok());
  EXPECT_FALSE(CheckPidfd(-1, getpid()).ok());
}

TEST(PeerTest, TellsAPipeFromAllElse) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const base::Fd read_end(ends[0]);
  const base::Fd write_end(ends[1]);
  EXPECT_TRUE(CheckPipe(read_end.get()).ok());
  const base::Fd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(CheckPipe(file.get()).ok());
  EXPECT_FALSE(CheckPipe(OpenPidfd(getpid()).get()).ok());
  EXPECT_FALSE(CheckPipe(-1).ok());
}

TEST(PeerTest, TakesNoPidfdOfADeadProcess) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  const base::Fd pidfd = OpenPidfd(child);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(CheckPidfd(pidfd.get(), child).ok());
}

}  // namespace
}  // namespace forebay::session
