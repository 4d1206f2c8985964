#ifndef FOREBAY_SERVER_DAEMON_SERVICE_MANAGER_H_
#define FOREBAY_SERVER_DAEMON_SERVICE_MANAGER_H_

#include <chrono>
#include <string>

namespace forebay::daemon {

// Notifies systemd over the socket that $NOTIFY_SOCKET names. Sends nothing if
// no service manager asked for it.
//
// Thread-safe. Does not block. No call fails: a service manager that does not
// listen must not stop the service.
class ServiceManager {
 public:
  // Reads $WATCHDOG_USEC and $WATCHDOG_PID.
  ServiceManager();

  // How often Watchdog() is to be called: half of what the service manager
  // waits for. Zero: never.
  std::chrono::microseconds watchdog_interval() const {
    return watchdog_interval_;
  }

  // The sockets listen.
  void Ready() const;
  // The daemon has begun to leave.
  void Stopping() const;
  // The main loop is alive.
  void Watchdog() const;
  // One line for `systemctl status`; line breaks become blanks.
  void Status(std::string line) const;

 private:
  std::chrono::microseconds watchdog_interval_{0};
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_SERVICE_MANAGER_H_
