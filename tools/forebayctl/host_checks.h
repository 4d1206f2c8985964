#ifndef FOREBAY_TOOLS_FOREBAYCTL_HOST_CHECKS_H_
#define FOREBAY_TOOLS_FOREBAYCTL_HOST_CHECKS_H_

#include <string>
#include <vector>

#include "proto/admin.pb.h"

namespace forebay::ctl {

// The result of one check of `doctor`.
struct Finding {
  enum class Level {
    kOk,
    kNote,     // works, and could be better
    kProblem,  // is wrong
  };
  Level level = Level::kOk;
  std::string subject;   // one or two words
  std::string sentence;  // the fact, and what to do about it
};

// Checks that this kernel has what Forebay uses: openat2, pidfd, sealed memfds,
// pagemap. Tries each. Does not block.
std::vector<Finding> CheckKernel();

// Checks the daemon's memory, CPUs, locked memory, index directory and
// warnings, by `status` and by this host's files. `proc` and `cgroups` are
// /proc and /sys/fs/cgroup. Blocks for file I/O; skips what cannot be read.
std::vector<Finding> CheckDaemon(const proto::DaemonStatus& status,
                                 const std::string& proc = "/proc",
                                 const std::string& cgroups = "/sys/fs/cgroup");

// Names the GPUs that the daemon sees, or why there are none. That is never a
// problem: the daemon serves without. Returns nothing if the daemon does not
// report them. Does not block.
std::vector<Finding> CheckGpus(const proto::DaemonStatus& status);

// Says how the daemon reads local files, and with which credentials it reads
// buckets. That is never a problem: threads always work. Returns nothing if the
// daemon does not report it. Does not block.
std::vector<Finding> CheckStorage(const proto::DaemonStatus& status);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_HOST_CHECKS_H_
