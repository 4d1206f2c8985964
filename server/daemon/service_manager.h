#ifndef FOREBAY_SERVER_DAEMON_SERVICE_MANAGER_H_
#define FOREBAY_SERVER_DAEMON_SERVICE_MANAGER_H_

#include <chrono>

namespace forebay::daemon {

// Tells systemd the daemon's state, over the socket that $NOTIFY_SOCKET names.
// Sends nothing if that is not set.
//
// Thread-safe. Does not block. No errors: a service manager that does not
// listen must not stop the service.
class ServiceManager {
 public:
  // Reads $WATCHDOG_USEC and $WATCHDOG_PID.
  ServiceManager();

  // The period at which Watchdog() is to be called: half of the service
  // manager's limit. Zero: never.
  std::chrono::microseconds watchdog_interval() const {
    return watchdog_interval_;
  }

  // The sockets listen.
  void Ready() const;
  // The daemon has begun to leave.
  void Stopping() const;
  // The main loop is alive.
  void Watchdog() const;

 private:
  std::chrono::microseconds watchdog_interval_{0};
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_SERVICE_MANAGER_H_
