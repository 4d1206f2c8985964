#ifndef FOREBAY_SERVER_BASE_CGROUP_H_
#define FOREBAY_SERVER_BASE_CGROUP_H_

#include <cstdint>
#include <optional>
#include <string>

namespace forebay::base {

// What this process may use: what the machine has, or less where its cgroup,
// any cgroup above it, or its CPU affinity says so.
struct CgroupLimits {
  int cpus = 1;  // at least 1; a quota of 1.5 CPUs counts as 2
  std::uint64_t memory_bytes = 0;  // 0 if the machine does not tell
};

// Reads proc/ and sys/fs/cgroup/ (versions 1 and 2) below `root`. Blocks for
// those files only. No errors: what cannot be read limits nothing.
CgroupLimits ReadCgroupLimits(const std::string& root = "/");

// The cgroups' own limits; nullopt where they set none.
std::optional<double> CgroupCpuQuota(const std::string& root);
std::optional<std::uint64_t> CgroupMemoryLimit(const std::string& root);

// How much memory could be taken before this machine, or a cgroup of this
// process, has to let go of more than what the page cache holds; 0 where nobody
// tells. As ReadCgroupLimits reads it.
std::uint64_t AvailableMemory(const std::string& root = "/");

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_CGROUP_H_
