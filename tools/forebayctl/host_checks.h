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
    kNote,     // the subject works, but could work better
    kProblem,  // the subject does not work
  };
  Level level = Level::kOk;
  std::string subject;   // one or two words
  std::string sentence;  // the fact, and what to do about it
};

// Checks that this kernel has the features that Forebay uses (openat2, pidfd,
// sealed memfds, pagemap) by trying each. Thread-safe; does not block.
std::vector<Finding> CheckKernel();

// Checks the daemon's memory, CPUs, locked memory, index directory and
// warnings, by `status` and by files of this host. `proc` and `cgroups` stand
// for /proc and /sys/fs/cgroup. Blocks for file I/O. Checks whose files cannot
// be read are left out.
std::vector<Finding> CheckDaemon(const proto::DaemonStatus& status,
                                 const std::string& proc = "/proc",
                                 const std::string& cgroups = "/sys/fs/cgroup");

// Names the GPUs that the daemon sees, or the reason why it sees none. A lack
// of GPUs is a note, not a problem: the daemon works without them. Returns
// nothing if the daemon does not report GPUs. Does not block.
std::vector<Finding> CheckGpus(const proto::DaemonStatus& status);

// Says how the daemon reads local files, and with which credentials it reads
// buckets. None of these findings is a problem: reads by threads always work.
// Returns nothing if the daemon does not report how it reads. Does not block.
std::vector<Finding> CheckStorage(const proto::DaemonStatus& status);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_HOST_CHECKS_H_
