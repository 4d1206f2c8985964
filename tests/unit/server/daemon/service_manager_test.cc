#include "server/daemon/service_manager.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/temp_dir.h"

namespace forebay::daemon {
namespace {

// A socket at $NOTIFY_SOCKET that receives the messages to systemd.
class ServiceManagerTest {
 protected:
  ServiceManagerTest() {
    path_ = tests::TempDir() + "notify." + std::to_string(getpid());
    // `sun_path` holds 108 bytes, and the test folder's path may be longer.
    if (path_.size() > 100) path_ = "/tmp/notify." + std::to_string(getpid());
    unlink(path_.c_str());
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    REQUIRE(socket_ >= 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    REQUIRE(bind(socket_, reinterpret_cast<sockaddr*>(&address),
                 sizeof(address)) == 0);
    REQUIRE(setenv("NOTIFY_SOCKET", path_.c_str(), 1) == 0);
  }

  ~ServiceManagerTest() {
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    close(socket_);
    unlink(path_.c_str());
  }

  // Returns the next message, or an empty text if there is none.
  std::string Received() const {
    char text[256];
    const ssize_t bytes = recv(socket_, text, sizeof(text), MSG_DONTWAIT);
    return bytes < 0 ? "" : std::string(text, bytes);
  }

  std::string path_;
  int socket_ = -1;
};

TEST_CASE_METHOD(ServiceManagerTest,
                 "The daemon tells the service manager each state",
                 "[daemon][service_manager]") {
  const ServiceManager manager;
  manager.Ready();
  CHECK(Received() == "READY=1");
  manager.Watchdog();
  CHECK(Received() == "WATCHDOG=1");
  manager.Stopping();
  CHECK(Received() == "STOPPING=1");
}

TEST_CASE_METHOD(
    ServiceManagerTest,
    "The daemon tells the service manager nothing where nobody asked",
    "[daemon][service_manager]") {
  unsetenv("NOTIFY_SOCKET");
  ServiceManager().Ready();
  CHECK_THAT(Received(), Catch::Equals(""));
}

TEST_CASE_METHOD(ServiceManagerTest,
                 "A service manager that does not listen is not a fault",
                 "[daemon][service_manager]") {
  setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1);
  ServiceManager().Ready();
}

TEST_CASE_METHOD(
    ServiceManagerTest,
    "The service manager's watchdog is fed twice as often as asked",
    "[daemon][service_manager]") {
  setenv("WATCHDOG_USEC", "30000000", 1);
  CHECK(ServiceManager().watchdog_interval() == std::chrono::seconds(15));
}

TEST_CASE_METHOD(
    ServiceManagerTest,
    "The service manager's watchdog is fed only if it is for this process",
    "[daemon][service_manager]") {
  CHECK(ServiceManager().watchdog_interval() == std::chrono::seconds(0));
  setenv("WATCHDOG_USEC", "30000000", 1);
  setenv("WATCHDOG_PID", std::to_string(getppid()).c_str(), 1);
  CHECK(ServiceManager().watchdog_interval() == std::chrono::seconds(0));
}

}  // namespace
}  // namespace forebay::daemon
