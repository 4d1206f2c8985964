#ifndef FOREBAY_SERVER_DAEMON_RESOURCES_H_
#define FOREBAY_SERVER_DAEMON_RESOURCES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "server/pipeline/workspace.h"

namespace forebay::daemon {

// The configured limits, in figures of this host.
struct Resources {
  std::uint64_t memory = 0;    // bytes
  std::uint64_t cache = 0;     // bytes, of them
  std::uint64_t variants = 0;  // of it
  std::uint64_t scratch = 0;
  std::uint64_t producers = 0;          // bytes, besides
  int cpus = 0;                         // that the executor uses
  double max_cpus = 0;                  // of all its tasks
  pipeline::WorkspaceLimits workspace;  // of one worker
  std::vector<std::string> warnings;
};

// Reads the limits of this host and of the process's cgroup. Thread-safe; never
// blocks. INVALID_ARGUMENT: a figure of the configuration is none, or too
// large.
absl::StatusOr<Resources> MeasureResources(const proto::Config& config);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_RESOURCES_H_
