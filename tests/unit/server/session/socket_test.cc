#include "server/session/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace forebay::session {
namespace {

class SocketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int fds[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    ours_ = base::Fd(fds[0]);
    theirs_ = base::Fd(fds[1]);
  }

  base::Fd ours_;
  base::Fd theirs_;
};

TEST_F(SocketTest, CarriesBytesAndDescriptors) {
  const base::Fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const base::Fd zero(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(Send(theirs_.get(), "hello", {null.get(), zero.get()}).ok());
  const auto datagram = Receive(ours_.get());
  ASSERT_TRUE(datagram.ok()) << datagram.status();
  EXPECT_EQ(datagram->bytes, "hello");
  ASSERT_EQ(datagram->fds.size(), 2);
  char byte = 1;
  EXPECT_EQ(read(datagram->fds[0].get(), &byte, 1), 0);
  EXPECT_EQ(read(datagram->fds[1].get(), &byte, 1), 1);
  EXPECT_NE(fcntl(datagram->fds[0].get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(SocketTest, TellsNothingYetFromGone) {
  EXPECT_TRUE(absl::IsUnavailable(Receive(ours_.get()).status()));
  theirs_.Close();
  EXPECT_TRUE(absl::IsOutOfRange(Receive(ours_.get()).status()));
  EXPECT_TRUE(absl::IsUnavailable(Send(ours_.get(), "hello", {})));
}

TEST_F(SocketTest, RefusesWhatIsTooLarge) {
  const int large = 1 << 20;
  setsockopt(theirs_.get(), SOL_SOCKET, SO_SNDBUF, &large, sizeof(large));
  const std::string most(kMaxMessage, 'x');
  ASSERT_TRUE(Send(theirs_.get(), most, {}).ok());
  EXPECT_EQ(Receive(ours_.get())->bytes.size(), kMaxMessage);
  ASSERT_TRUE(Send(theirs_.get(), most + "x", {}).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Receive(ours_.get()).status()));
}

TEST_F(SocketTest, LeaksNoDescriptorOfWhatItRefuses) {
  const int large = 1 << 20;
  setsockopt(theirs_.get(), SOL_SOCKET, SO_SNDBUF, &large, sizeof(large));
  const base::Fd probe(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::vector<int> fds(50, probe.get());
  ASSERT_TRUE(Send(theirs_.get(), std::string(kMaxMessage + 1, 'x'), fds).ok());
  EXPECT_FALSE(Receive(ours_.get()).ok());
  const base::Fd next(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_LT(next.get(), probe.get() + 10);
}

class ListenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Bazel's own directory is too long for the path of a socket.
    std::string directory = "/tmp/forebay-listen.XXXXXX";
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    path_ = directory + "/s";
  }

  std::string path_;
};

TEST_F(ListenTest, IsOpenToItsOwnerAloneAndReplacesAStaleSocket) {
  for (int i = 0; i < 2; ++i) {
    const auto listener = Listen(path_);
    ASSERT_TRUE(listener.ok()) << listener.status();
    struct stat status;
    ASSERT_EQ(stat(path_.c_str(), &status), 0);
    EXPECT_TRUE(S_ISSOCK(status.st_mode));
    EXPECT_EQ(status.st_mode & 0777, 0600);

    const base::Fd client(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    struct sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(
        connect(client.get(), reinterpret_cast<struct sockaddr*>(&address),
                sizeof(address)),
        0);
  }
}

TEST_F(ListenTest, NamesThePathThatCannotBe) {
  EXPECT_TRUE(
      absl::IsInvalidArgument(Listen(path_ + std::string(200, 'x')).status()));
  const absl::Status status = Listen(path_ + "/none/s").status();
  EXPECT_NE(std::string(status.message()).find(path_), std::string::npos)
      << status;
}

}  // namespace
}  // namespace forebay::session
