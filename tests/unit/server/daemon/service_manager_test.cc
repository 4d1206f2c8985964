#include "server/daemon/service_manager.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <string>

namespace forebay::daemon {
namespace {

// Stands where systemd does: receives what is sent to $NOTIFY_SOCKET.
class ServiceManagerTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "notify." + std::to_string(getpid());
    // sun_path holds 108 bytes; the test folder may be deep.
    if (path_.size() > 100) path_ = "/tmp/notify." + std::to_string(getpid());
    unlink(path_.c_str());
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ASSERT_GE(socket_, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(
        bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
        0);
    ASSERT_EQ(setenv("NOTIFY_SOCKET", path_.c_str(), 1), 0);
  }

  void TearDown() override {
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    close(socket_);
    unlink(path_.c_str());
  }

  // Empty when nothing was sent.
  std::string Received() const {
    char text[256];
    const ssize_t bytes = recv(socket_, text, sizeof(text), MSG_DONTWAIT);
    return bytes < 0 ? "" : std::string(text, bytes);
  }

  std::string path_;
  int socket_ = -1;
};

TEST_F(ServiceManagerTest, TellsEachState) {
  const ServiceManager manager;
  manager.Ready();
  EXPECT_EQ(Received(), "READY=1");
  manager.Watchdog();
  EXPECT_EQ(Received(), "WATCHDOG=1");
  manager.Stopping();
  EXPECT_EQ(Received(), "STOPPING=1");
}

TEST_F(ServiceManagerTest, SaysNothingWhereNobodyAsked) {
  unsetenv("NOTIFY_SOCKET");
  ServiceManager().Ready();
  EXPECT_EQ(Received(), "");
}

TEST_F(ServiceManagerTest, NobodyListeningIsNoFault) {
  setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1);
  ServiceManager().Ready();
}

TEST_F(ServiceManagerTest, WatchdogIsFedTwiceAsOftenAsAsked) {
  setenv("WATCHDOG_USEC", "30000000", 1);
  EXPECT_EQ(ServiceManager().watchdog_interval(), std::chrono::seconds(15));
}

TEST_F(ServiceManagerTest, NoWatchdogUnlessItIsForThisProcess) {
  EXPECT_EQ(ServiceManager().watchdog_interval(), std::chrono::seconds(0));
  setenv("WATCHDOG_USEC", "30000000", 1);
  setenv("WATCHDOG_PID", std::to_string(getppid()).c_str(), 1);
  EXPECT_EQ(ServiceManager().watchdog_interval(), std::chrono::seconds(0));
}

}  // namespace
}  // namespace forebay::daemon
