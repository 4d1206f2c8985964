#ifndef FOREBAY_SERVER_BASE_CGROUP_H_
#define FOREBAY_SERVER_BASE_CGROUP_H_

#include <cstdint>
#include <optional>
#include <string>

namespace forebay::base {

// The resources that this process may use: the machine's, or less if its
// cgroup, a cgroup above it, or its CPU affinity limits them.
struct CgroupLimits {
  int cpus = 1;  // at least 1; a quota of 1.5 CPUs counts as 2
  std::uint64_t memory_bytes = 0;  // 0 if unknown
};

// Reads proc/ and sys/fs/cgroup/ (versions 1 and 2) below `root`. Blocks for
// these files only. No errors: a file that cannot be read limits nothing.
CgroupLimits ReadCgroupLimits(const std::string& root = "/");

// Return the cgroups' own limits, or nullopt if they set none.
std::optional<double> CgroupCpuQuota(const std::string& root);
std::optional<std::uint64_t> CgroupMemoryLimit(const std::string& root);

// Returns the bytes that can be taken until this machine, or a cgroup of this
// process, must reclaim more than page cache; 0 if unknown. Reads files as
// ReadCgroupLimits does.
std::uint64_t AvailableMemory(const std::string& root = "/");

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_CGROUP_H_
