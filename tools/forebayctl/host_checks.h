#ifndef FOREBAY_TOOLS_FOREBAYCTL_HOST_CHECKS_H_
#define FOREBAY_TOOLS_FOREBAYCTL_HOST_CHECKS_H_

#include <string>
#include <vector>

#include "proto/admin.pb.h"

namespace forebay::ctl {

// One thing that `doctor` looked at.
struct Finding {
  enum class Level {
    kOk,
    kNote,     // works, but might be better
    kProblem,  // something is wrong
  };
  Level level = Level::kOk;
  std::string subject;   // one or two words
  std::string sentence;  // what is so, and what to do about it
};

// Whether this kernel has what Forebay uses: openat2, pidfd, sealed memfds,
// pagemap. Tries each. Does not block.
std::vector<Finding> CheckKernel();

// What `status` tells, and the host says, of the daemon's memory, CPUs, locked
// memory, index directory and warnings. `proc` and `cgroups` are /proc and
// /sys/fs/cgroup. Blocks for file I/O; what cannot be read is left out.
std::vector<Finding> CheckDaemon(const proto::DaemonStatus& status,
                                 const std::string& proc = "/proc",
                                 const std::string& cgroups = "/sys/fs/cgroup");

// Which GPUs the daemon sees, or why none: never a problem, since the daemon
// serves without. Nothing from a daemon that does not know. Does not block.
std::vector<Finding> CheckGpus(const proto::DaemonStatus& status);

// By what the daemon reads local files: never a problem, since threads always
// work. Nothing from a daemon that does not know. Does not block.
std::vector<Finding> CheckStorage(const proto::DaemonStatus& status);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_HOST_CHECKS_H_
