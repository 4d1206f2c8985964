#include "server/base/cgroup.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

// A process is in one cgroup of each hierarchy. /proc/self/cgroup has a line
// "id:controllers:path" for each hierarchy (cgroups(7)); version 2 leaves the
// controllers empty. The limits of all cgroups above a process apply to it too,
// so the walk starts at its own cgroup and visits each parent.
//
// In a container the path may be the path on the host, while the container's
// own cgroup is mounted at the top. Levels that do not exist are therefore
// passed over, and the top is always read. The lowest of all limits found
// applies.

namespace forebay::base {
namespace {

// The most CPUs that a Linux kernel can be built for (NR_CPUS on x86-64). The
// affinity mask must be that large, or the kernel refuses to fill it.
constexpr int kMaxCpus = 8192;

// Returns the content of a file; "" if it cannot be read.
std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return file ? content.str() : "";
}

// Returns the number if `text` is nothing but a number; nullopt for other text.
// Version 2 writes "max" where there is no limit.
template <typename Number>
std::optional<Number> ParseNumber(absl::string_view text) {
  Number number;
  if (!absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

// Calls `visit` with the directory of the process's cgroup that has
// `controller`, then with the directory of each cgroup above it. Directories
// that do not exist are visited too; their files read as empty.
void VisitCgroups(const std::string& root, std::string_view controller,
                  const std::function<void(const std::string&)>& visit) {
  const absl::string_view wanted(controller.data(), controller.size());
  const std::string mounts = root + "/sys/fs/cgroup";
  for (absl::string_view line :
       absl::StrSplit(ReadFile(root + "/proc/self/cgroup"), '\n')) {
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    std::vector<std::string> tops;
    // Version 2 is mounted at the top, or under "unified" beside version 1.
    if (parts[1].empty()) {
      tops = {mounts, mounts + "/unified"};
    } else {
      const std::vector<std::string> names = absl::StrSplit(parts[1], ',');
      if (std::find(names.begin(), names.end(), wanted) == names.end())
        continue;
      // A hierarchy of several controllers ("cpu,cpuacct") usually has a
      // symbolic link for each of them beside its own directory.
      tops = {mounts + "/" + parts[1]};
      if (names.size() > 1) tops.push_back(mounts + "/" + std::string(wanted));
    }
    // A path with ".." lies outside the mounted hierarchy, which is then read
    // at its top alone.
    std::string path = parts[2];
    if (!path.starts_with('/') || path.find("..") != path.npos) path.clear();
    for (;;) {
      while (path.ends_with('/')) path.pop_back();
      for (const std::string& top : tops) visit(top + path);
      if (path.empty()) break;
      path.resize(path.rfind('/'));
    }
  }
}

// Lowers `limit` to `found`, or sets it if there was no limit.
template <typename Limit>
void Lower(std::optional<Limit>& limit, Limit found) {
  if (!limit || found < *limit) limit = found;
}

// Returns how many CPUs the scheduler may run this process on.
int AffinityCpus() {
  std::vector<cpu_set_t> set(kMaxCpus / CPU_SETSIZE);
  const std::size_t bytes = set.size() * sizeof(cpu_set_t);
  if (sched_getaffinity(0, bytes, set.data()) == 0)
    return CPU_COUNT_S(bytes, set.data());
  return static_cast<int>(std::thread::hardware_concurrency());
}

// Returns the number after `name` in a file of lines "NAME NUMBER [UNIT]".
std::optional<std::uint64_t> NumberIn(const std::string& path,
                                      absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(ReadFile(path), '\n')) {
    const std::vector<std::string> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() >= 2 && words[0] == name)
      return ParseNumber<std::uint64_t>(words[1]);
  }
  return std::nullopt;
}

// Returns a value of /proc/meminfo in bytes; the file has it in KiB.
std::optional<std::uint64_t> MachineMemory(const std::string& root,
                                           absl::string_view name) {
  const auto kib = NumberIn(root + "/proc/meminfo", name);
  if (!kib.has_value()) return std::nullopt;
  return *kib * 1024;
}

// Returns a cgroup's own memory limit in bytes. In version 1, the largest
// multiple of the page size below 2^63 means that there is no limit, so 2^62
// and above count as no limit.
std::optional<std::uint64_t> MemoryLimitOf(const std::string& directory) {
  std::optional<std::uint64_t> limit;
  for (const char* name : {"/memory.max", "/memory.limit_in_bytes"})
    if (const auto bytes =
            ParseNumber<std::uint64_t>(ReadFile(directory + name)))
      if (*bytes < std::uint64_t{1} << 62) Lower(limit, *bytes);
  return limit;
}

// Returns the number of bytes that a cgroup uses, less its page cache, which
// the kernel can drop at any time.
std::uint64_t UsedWithoutFiles(const std::string& directory) {
  std::uint64_t used = 0;
  for (const char* name : {"/memory.current", "/memory.usage_in_bytes"})
    used = std::max(
        used,
        ParseNumber<std::uint64_t>(ReadFile(directory + name)).value_or(0));
  const std::string stat = directory + "/memory.stat";
  for (const char* list : {"inactive_file", "active_file"}) {
    // In version 1 the plain counter leaves out the cgroups below this one;
    // the counter with "total_" includes them. Version 2 has no such prefix.
    auto files = NumberIn(stat, absl::StrCat("total_", list));
    if (!files.has_value()) files = NumberIn(stat, list);
    used -= std::min(used, files.value_or(0));
  }
  return used;
}

}  // namespace

std::optional<double> CgroupCpuQuota(const std::string& root) {
  std::optional<double> quota;
  // A quota of CPUs is the CPU time allowed per period, both in microseconds.
  const auto lower = [&quota](std::optional<std::int64_t> micros,
                              std::optional<std::int64_t> period) {
    if (micros && period && *micros > 0 && *period > 0)
      Lower(quota, static_cast<double>(*micros) / *period);
  };
  VisitCgroups(root, "cpu", [&](const std::string& directory) {
    const std::vector<std::string> max = absl::StrSplit(
        ReadFile(directory + "/cpu.max"), absl::ByAnyChar(" \n"));
    if (max.size() >= 2)
      lower(ParseNumber<std::int64_t>(max[0]),
            ParseNumber<std::int64_t>(max[1]));
    lower(
        ParseNumber<std::int64_t>(ReadFile(directory + "/cpu.cfs_quota_us")),
        ParseNumber<std::int64_t>(ReadFile(directory + "/cpu.cfs_period_us")));
  });
  return quota;
}

std::optional<std::uint64_t> CgroupMemoryLimit(const std::string& root) {
  std::optional<std::uint64_t> limit;
  VisitCgroups(root, "memory", [&](const std::string& directory) {
    if (const auto own = MemoryLimitOf(directory)) Lower(limit, *own);
  });
  return limit;
}

CgroupLimits ReadCgroupLimits(const std::string& root) {
  CgroupLimits limits;
  limits.cpus = AffinityCpus();
  if (const auto quota = CgroupCpuQuota(root);
      quota && std::ceil(*quota) < limits.cpus)
    limits.cpus = static_cast<int>(std::ceil(*quota));
  limits.cpus = std::max(limits.cpus, 1);
  std::optional<std::uint64_t> memory = MachineMemory(root, "MemTotal:");
  if (const auto limit = CgroupMemoryLimit(root)) Lower(memory, *limit);
  limits.memory_bytes = memory.value_or(0);
  return limits;
}

std::uint64_t AvailableMemory(const std::string& root) {
  std::optional<std::uint64_t> available = MachineMemory(root, "MemAvailable:");
  VisitCgroups(root, "memory", [&](const std::string& directory) {
    if (const auto limit = MemoryLimitOf(directory))
      Lower(available, *limit - std::min(*limit, UsedWithoutFiles(directory)));
  });
  return available.value_or(0);
}

}  // namespace forebay::base
