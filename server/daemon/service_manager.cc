#include "server/daemon/service_manager.h"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace forebay::daemon {
namespace {

// The environment stays as it is: it is not only ours to change.
void Notify(const std::string& state) {
  static_cast<void>(sd_notify(/*unset_environment=*/0, state.c_str()));
}

}  // namespace

ServiceManager::ServiceManager() {
  std::uint64_t timeout_micros = 0;
  if (sd_watchdog_enabled(/*unset_environment=*/0, &timeout_micros) > 0) {
    watchdog_interval_ = std::chrono::microseconds(timeout_micros / 2);
  }
}

void ServiceManager::Ready() const { Notify("READY=1"); }

void ServiceManager::Stopping() const { Notify("STOPPING=1"); }

void ServiceManager::Watchdog() const { Notify("WATCHDOG=1"); }

void ServiceManager::Status(std::string line) const {
  // A line break would begin another assignment.
  std::replace(line.begin(), line.end(), '\n', ' ');
  Notify("STATUS=" + line);
}

}  // namespace forebay::daemon
