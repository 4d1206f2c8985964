#include "server/session/socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::session {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

class SocketTest {
 protected:
  SocketTest() {
    int fds[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
    ours_ = base::Fd(fds[0]);
    theirs_ = base::Fd(fds[1]);
  }

  base::Fd ours_;
  base::Fd theirs_;
};

TEST_CASE_METHOD(SocketTest, "A session socket carries bytes and descriptors",
                 "[session][socket]") {
  const base::Fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const base::Fd zero(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  REQUIRE_THAT(Send(theirs_.get(), "hello", {null.get(), zero.get()}), IsOk());
  const auto datagram = Receive(ours_.get());
  REQUIRE_THAT(datagram, IsOk());
  CHECK(datagram->bytes == "hello");
  REQUIRE(datagram->fds.size() == 2);
  char byte = 1;
  CHECK(read(datagram->fds[0].get(), &byte, 1) == 0);
  CHECK(read(datagram->fds[1].get(), &byte, 1) == 1);
  CHECK((fcntl(datagram->fds[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE_METHOD(
    SocketTest,
    "A session socket tells a peer that is silent from a peer that is gone",
    "[session][socket]") {
  CHECK_THAT(Receive(ours_.get()), HasCode(absl::StatusCode::kUnavailable));
  theirs_.Close();
  CHECK_THAT(Receive(ours_.get()), HasCode(absl::StatusCode::kOutOfRange));
  CHECK_THAT(Send(ours_.get(), "hello", {}),
             HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE_METHOD(SocketTest,
                 "A session socket refuses a message that is too large",
                 "[session][socket]") {
  const int large = 1 << 20;
  setsockopt(theirs_.get(), SOL_SOCKET, SO_SNDBUF, &large, sizeof(large));
  const std::string most(kMaxMessage, 'x');
  REQUIRE_THAT(Send(theirs_.get(), most, {}), IsOk());
  CHECK(Receive(ours_.get())->bytes.size() == kMaxMessage);
  REQUIRE_THAT(Send(theirs_.get(), most + "x", {}), IsOk());
  CHECK_THAT(Receive(ours_.get()), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE_METHOD(
    SocketTest,
    "A session socket leaks no descriptor of a message that it refuses",
    "[session][socket]") {
  const int large = 1 << 20;
  setsockopt(theirs_.get(), SOL_SOCKET, SO_SNDBUF, &large, sizeof(large));
  const base::Fd probe(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::vector<int> fds(50, probe.get());
  REQUIRE_THAT(Send(theirs_.get(), std::string(kMaxMessage + 1, 'x'), fds),
               IsOk());
  CHECK_FALSE(Receive(ours_.get()).ok());
  const base::Fd next(open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK(next.get() < probe.get() + 10);
}

class ListenTest {
 protected:
  ListenTest() {
    // Bazel's own directory is too long for the path of a socket.
    std::string directory = "/tmp/forebay-listen.XXXXXX";
    REQUIRE(mkdtemp(directory.data()) != nullptr);
    path_ = directory + "/s";
  }
  ~ListenTest() {
    std::filesystem::remove_all(std::filesystem::path(path_).parent_path());
  }

  std::string path_;
};

TEST_CASE_METHOD(
    ListenTest,
    "A listening socket is open to its owner alone and replaces a stale socket",
    "[session][socket]") {
  for (int i = 0; i < 2; ++i) {
    const auto listener = Listen(path_);
    REQUIRE_THAT(listener, IsOk());
    struct stat status;
    REQUIRE(stat(path_.c_str(), &status) == 0);
    CHECK(S_ISSOCK(status.st_mode));
    CHECK((status.st_mode & 0777) == 0600);

    const base::Fd client(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    struct sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    CHECK(connect(client.get(), reinterpret_cast<struct sockaddr*>(&address),
                  sizeof(address)) == 0);
  }
}

TEST_CASE_METHOD(ListenTest,
                 "A failure to listen names the path that cannot be a socket",
                 "[session][socket]") {
  CHECK_THAT(Listen(path_ + std::string(200, 'x')),
             HasCode(absl::StatusCode::kInvalidArgument));
  const absl::Status status = Listen(path_ + "/none/s").status();
  CAPTURE(status);
  CHECK_THAT(status.message(), Contains(path_));
}

}  // namespace
}  // namespace forebay::session
