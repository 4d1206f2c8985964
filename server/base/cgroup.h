#ifndef FOREBAY_SERVER_BASE_CGROUP_H_
#define FOREBAY_SERVER_BASE_CGROUP_H_

#include <cstdint>
#include <optional>
#include <string>

namespace forebay::base {

// The resources that this process may use: those of the machine, unless the
// process's cgroup, a parent of that cgroup, or the CPU affinity allows less.
struct CgroupLimits {
  int cpus = 1;  // at least 1; a quota of 1.5 CPUs counts as 2
  std::uint64_t memory_bytes = 0;  // 0 if unknown
};

// Reads the limits from proc/ and sys/fs/cgroup/ (versions 1 and 2) below
// `root`. Thread-safe. Blocks for reads of these files only. There are no
// errors: a file that cannot be read sets no limit.
CgroupLimits ReadCgroupLimits(const std::string& root = "/");

// Returns the lowest CPU quota of the process's cgroups, in CPUs (1.5 is a CPU
// and a half); nullopt if none of them sets a quota.
std::optional<double> CgroupCpuQuota(const std::string& root);
// Returns the lowest memory limit of the process's cgroups, in bytes; nullopt
// if none of them sets a limit.
std::optional<std::uint64_t> CgroupMemoryLimit(const std::string& root);

// Returns how many bytes can still be allocated before the machine, or a cgroup
// of this process, must reclaim more than page cache; 0 if unknown. Reads the
// same files as ReadCgroupLimits, and blocks for them only.
std::uint64_t AvailableMemory(const std::string& root = "/");

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_CGROUP_H_
