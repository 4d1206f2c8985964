#include "tools/forebayctl/observe.h"

#include <chrono>
#include <thread>
#include <utility>

namespace forebay::ctl {

// Each list has the daemon's own time, so the time that the calls take does not
// distort the rates.
absl::StatusOr<Observation> Observe(AdminClient* client, double seconds) {
  const auto before = client->ListJobs();
  if (!before.ok()) return before.status();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  auto after = client->ListJobs();
  if (!after.ok()) return after.status();
  Observation observation;
  observation.rates = RatesBetween(*before, *after);
  observation.list = *std::move(after);
  return observation;
}

}  // namespace forebay::ctl
