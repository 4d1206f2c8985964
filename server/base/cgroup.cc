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
// "id:controllers:path" for each, with no controllers for version 2. Limits of
// all cgroups above apply too. In a container the path may be the host's, while
// the container's own cgroup is mounted at the top. So missing levels are
// passed over, and the top is always read.

namespace forebay::base {
namespace {

constexpr int kMaxCpus = 8192;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return file ? content.str() : "";
}

template <typename Number>
std::optional<Number> ParseNumber(absl::string_view text) {
  Number number;
  if (!absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

// Calls `visit` with the directory of the cgroup that holds `controller`, and
// of each above it.
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
    if (parts[1].empty()) {
      tops = {mounts, mounts + "/unified"};
    } else {
      const std::vector<std::string> names = absl::StrSplit(parts[1], ',');
      if (std::find(names.begin(), names.end(), wanted) == names.end())
        continue;
      tops = {mounts + "/" + parts[1]};
      if (names.size() > 1) tops.push_back(mounts + "/" + std::string(wanted));
    }
    // A path with ".." lies outside of the mount.
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

template <typename Limit>
void Lower(std::optional<Limit>& limit, Limit found) {
  if (!limit || found < *limit) limit = found;
}

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

std::optional<std::uint64_t> MachineMemory(const std::string& root,
                                           absl::string_view name) {
  const auto kib = NumberIn(root + "/proc/meminfo", name);
  if (!kib.has_value()) return std::nullopt;
  return *kib * 1024;
}

// Returns a cgroup's limit. In version 1, the largest number of whole pages
// means none.
std::optional<std::uint64_t> MemoryLimitOf(const std::string& directory) {
  std::optional<std::uint64_t> limit;
  for (const char* name : {"/memory.max", "/memory.limit_in_bytes"})
    if (const auto bytes =
            ParseNumber<std::uint64_t>(ReadFile(directory + name)))
      if (*bytes < std::uint64_t{1} << 62) Lower(limit, *bytes);
  return limit;
}

// Returns the bytes that a cgroup uses, without cached files.
std::uint64_t UsedWithoutFiles(const std::string& directory) {
  std::uint64_t used = 0;
  for (const char* name : {"/memory.current", "/memory.usage_in_bytes"})
    used = std::max(
        used,
        ParseNumber<std::uint64_t>(ReadFile(directory + name)).value_or(0));
  const std::string stat = directory + "/memory.stat";
  for (const char* list : {"inactive_file", "active_file"}) {
    // Version 1 reports the cgroups below apart.
    auto files = NumberIn(stat, absl::StrCat("total_", list));
    if (!files.has_value()) files = NumberIn(stat, list);
    used -= std::min(used, files.value_or(0));
  }
  return used;
}

}  // namespace

std::optional<double> CgroupCpuQuota(const std::string& root) {
  std::optional<double> quota;
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
