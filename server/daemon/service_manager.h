#ifndef FOREBAY_SERVER_DAEMON_SERVICE_MANAGER_H_
#define FOREBAY_SERVER_DAEMON_SERVICE_MANAGER_H_

#include <chrono>

namespace forebay::daemon {

// Tells systemd the daemon's state (sd_notify(3)), through the socket that
// $NOTIFY_SOCKET names. Sends nothing if $NOTIFY_SOCKET is not set.
//
// Thread-safe. The daemon owns it. Does not block. Has no errors: the daemon
// serves even if the service manager does not listen.
class ServiceManager {
 public:
  // Reads $WATCHDOG_USEC and $WATCHDOG_PID.
  ServiceManager();

  // Returns the period at which Watchdog() is to be called, which is half of
  // the service manager's limit. Zero means never.
  std::chrono::microseconds watchdog_interval() const {
    return watchdog_interval_;
  }

  // Says that the sockets listen.
  void Ready() const;
  // Says that the daemon has begun to exit.
  void Stopping() const;
  // Says that the main loop still runs.
  void Watchdog() const;

 private:
  std::chrono::microseconds watchdog_interval_{0};
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_SERVICE_MANAGER_H_
