#include "server/daemon/service_manager.h"

#include <systemd/sd-daemon.h>

#include <cstdint>
#include <string>

namespace forebay::daemon {
namespace {

// Sends a state. The environment stays as it is, because other threads may be
// reading it.
void Notify(const std::string& state) {
  static_cast<void>(sd_notify(/*unset_environment=*/0, state.c_str()));
}

}  // namespace

ServiceManager::ServiceManager() {
  std::uint64_t timeout_micros = 0;
  // systemd recommends to report at half of its limit (sd_watchdog_enabled(3)).
  if (sd_watchdog_enabled(/*unset_environment=*/0, &timeout_micros) > 0) {
    watchdog_interval_ = std::chrono::microseconds(timeout_micros / 2);
  }
}

void ServiceManager::Ready() const { Notify("READY=1"); }

void ServiceManager::Stopping() const { Notify("STOPPING=1"); }

void ServiceManager::Watchdog() const { Notify("WATCHDOG=1"); }

}  // namespace forebay::daemon
