#ifndef FOREBAY_SERVER_DAEMON_RESOURCES_H_
#define FOREBAY_SERVER_DAEMON_RESOURCES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "server/pipeline/workspace.h"

namespace forebay::daemon {

// The configured limits, as numbers for this host.
struct Resources {
  std::uint64_t memory = 0;    // bytes for the daemon
  std::uint64_t cache = 0;     // bytes of `memory` for the cache
  std::uint64_t variants = 0;  // bytes of `cache` that variants may take
  std::uint64_t scratch = 0;   // bytes of `memory` for decoding
  std::uint64_t user_code_memory = 0;   // bytes for workers, not in `memory`
  int cpus = 0;                         // threads of the executor at once
  double max_cpus = 0;                  // CPU time of all tasks per second
  pipeline::WorkspaceLimits workspace;  // of one place for a task
  std::vector<std::string> warnings;    // sentences for administrators
};

// Computes the limits from the configuration, this host and the process's
// cgroup. Thread-safe. Blocks for files of the kernel only. INVALID_ARGUMENT: a
// value of the configuration is malformed, or too large.
absl::StatusOr<Resources> MeasureResources(const proto::Config& config);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_RESOURCES_H_
