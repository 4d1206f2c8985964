#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/shm_layout.h"
#include "proto/version.h"
#include "tools/forebayctl/host_checks.h"
#include "tools/forebayctl/pending.h"
#include "tools/forebayctl/units.h"

namespace forebay::ctl {
namespace {

using Level = Finding::Level;

// The locked memory below which registering buffers with the kernel or a GPU
// driver may fail.
constexpr std::uint64_t kEnoughLockedMemory = std::uint64_t{64} << 20;
// The free space below which an index of a large dataset may not fit.
constexpr std::uint64_t kEnoughDisk = std::uint64_t{256} << 20;
// The part of the memory limit above which new loaders will soon be refused.
constexpr double kNearlyFull = 0.95;
// The time after which a request that a job waits for is worth a note, and the
// time after which it counts as a problem.
constexpr double kLongWaitSeconds = 5;
constexpr double kHangSeconds = 60;

std::string Size(std::uint64_t bytes) {
  return Bytes(static_cast<double>(bytes));
}

Finding CheckVersions(const proto::DaemonStatus& status) {
  if (status.protocol_version() != proto::kProtocolVersion) {
    return {Level::kProblem, "version",
            absl::StrCat("forebayd speaks protocol ", status.protocol_version(),
                         ", forebayctl ", proto::kProtocolVersion,
                         ": restart the daemon after an upgrade.")};
  }
  if (status.version() != proto::kVersion) {
    return {Level::kNote, "version",
            absl::StrCat("forebayd is ", status.version(), ", forebayctl ",
                         proto::kVersion, ".")};
  }
  return {Level::kOk, "version",
          absl::StrCat("forebayd and forebayctl are ", proto::kVersion, ".")};
}

Finding CheckBudget(const proto::DaemonStatus& status) {
  const std::string figures = absl::StrCat(
      Size(status.memory_used()), " of ", Size(status.memory_limit()),
      " are in use, ", Size(status.memory_slots()), " by batches, ",
      Size(status.memory_cache()), " set aside for the cache.");
  if (static_cast<double>(status.memory_used()) >
      kNearlyFull * static_cast<double>(status.memory_limit())) {
    return {Level::kProblem, "memory",
            absl::StrCat(figures,
                         " More loaders will be refused: raise "
                         "memory.limit, or lower cache.memory or batch "
                         "sizes.")};
  }
  return {Level::kOk, "memory", figures};
}

// Returns the first line of a file; empty if it cannot be read.
std::string ReadFirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Returns the path of a process's cgroup in the unified hierarchy, the line
// "0::PATH" of /proc/PID/cgroup (cgroups(7)); empty if it is unknown.
std::string CgroupOf(const std::string& proc, std::uint32_t pid) {
  std::ifstream file(absl::StrCat(proc, "/", pid, "/cgroup"));
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("0::/", 0) == 0) return line.substr(3);
  }
  return "";
}

// Returns the folders from the process's cgroup up to the root. Each of these
// cgroups may limit the process.
std::vector<std::string> CgroupFolders(const std::string& cgroups,
                                       std::string path) {
  std::vector<std::string> folders;
  while (path.size() > 1) {
    folders.push_back(cgroups + path);
    path.erase(path.rfind('/'));
  }
  folders.push_back(cgroups);
  return folders;
}

// Compares the daemon's memory limit with the lowest limit of its cgroups;
// nullopt if they set none.
std::optional<Finding> CheckCgroupMemory(
    const proto::DaemonStatus& status,
    const std::vector<std::string>& folders) {
  std::optional<std::uint64_t> least;
  for (const std::string& folder : folders) {
    std::uint64_t limit = 0;
    if (absl::SimpleAtoi(ReadFirstLine(folder + "/memory.max"), &limit)) {
      least = std::min(limit, least.value_or(limit));
    }
  }
  if (!least.has_value()) return std::nullopt;
  if (status.memory_limit() > *least) {
    return Finding{
        Level::kProblem, "cgroup memory",
        absl::StrCat("The daemon may use ", Size(status.memory_limit()),
                     ", but its cgroup allows ", Size(*least),
                     ": the kernel may kill it; lower memory.limit.")};
  }
  return Finding{Level::kOk, "cgroup memory",
                 absl::StrCat("The cgroup allows ", Size(*least), ".")};
}

// Compares the daemon's threads with the lowest CPU quota of its cgroups;
// nullopt if they set none.
std::optional<Finding> CheckCgroupCpu(const proto::DaemonStatus& status,
                                      const std::vector<std::string>& folders) {
  std::optional<double> least;
  for (const std::string& folder : folders) {
    std::istringstream line(ReadFirstLine(folder + "/cpu.max"));
    double quota = 0;
    double period = 0;
    if (line >> quota >> period && period > 0) {
      least = std::min(quota / period, least.value_or(quota / period));
    }
  }
  if (!least.has_value()) return std::nullopt;
  const std::string cpus = absl::StrFormat("%.3g", *least);
  if (status.workers() >= *least + 1) {
    return Finding{Level::kNote, "cgroup CPU",
                   absl::StrCat("The daemon has ", status.workers(),
                                " workers, but its cgroup allows ", cpus,
                                " CPUs: they will be throttled; lower "
                                "cpu.workers.")};
  }
  return Finding{Level::kOk, "cgroup CPU",
                 absl::StrCat("The cgroup allows ", cpus, " CPUs.")};
}

// Checks how much memory the daemon's process may lock; nullopt if the kernel
// does not say, as for a daemon in another PID namespace.
std::optional<Finding> CheckLockedMemory(const proto::DaemonStatus& status) {
  rlimit limit = {};
  if (prlimit(static_cast<pid_t>(status.pid()), RLIMIT_MEMLOCK, nullptr,
              &limit) != 0) {
    return std::nullopt;
  }
  if (limit.rlim_cur == RLIM_INFINITY) {
    return Finding{Level::kOk, "memlock", "Locked memory is not limited."};
  }
  const std::string size = Size(limit.rlim_cur);
  if (limit.rlim_cur < kEnoughLockedMemory) {
    return Finding{Level::kNote, "memlock",
                   absl::StrCat("The daemon may lock only ", size,
                                " of memory; LimitMEMLOCK= of the unit, or "
                                "ulimit -l, raises it.")};
  }
  return Finding{Level::kOk, "memlock",
                 absl::StrCat("The daemon may lock ", size, " of memory.")};
}

Finding CheckIndexDirectory(const std::string& directory) {
  if (directory.empty()) {
    return {Level::kProblem, "index",
            "Dataset indexes are kept in memory only, and built anew after "
            "every start: set index.directory."};
  }
  // The daemon creates missing folders with the first index, so the nearest
  // folder that exists is checked.
  std::string existing = directory;
  while (existing.size() > 1 && access(existing.c_str(), F_OK) != 0 &&
         errno == ENOENT) {
    existing.erase(std::max<std::size_t>(existing.rfind('/'), 1));
  }
  struct statvfs disk = {};
  if (directory.front() != '/' || access(existing.c_str(), W_OK | X_OK) != 0 ||
      statvfs(existing.c_str(), &disk) != 0) {
    return {Level::kProblem, "index",
            absl::StrCat(directory,
                         " cannot be written: dataset indexes are built anew "
                         "after every start.")};
  }
  if (disk.f_blocks == 0) {
    return {Level::kProblem, "index",
            absl::StrCat(directory, " cannot be created: ", existing,
                         " has no room for files.")};
  }
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (free < kEnoughDisk) {
    return {Level::kProblem, "index",
            absl::StrCat(directory, " has only ", Size(free), " left.")};
  }
  return {Level::kOk, "index",
          absl::StrCat(directory, " can be written and has ", Size(free),
                       " left.")};
}

// Adds a finding for each request that has kept its job waiting for at least
// kLongWaitSeconds: something may hang.
void CheckPending(const proto::DaemonStatus& status,
                  std::vector<Finding>* findings) {
  for (const proto::PendingRequest& request : status.pending()) {
    if (request.seconds() < kLongWaitSeconds) continue;
    // Indexing a large folder may take minutes without being a problem.
    const bool is_index = request.kind() == proto::PendingRequest::OPENING &&
                          request.host().empty();
    const bool hangs = !is_index && request.seconds() >= kHangSeconds;
    findings->push_back(
        {hangs ? Level::kProblem : Level::kNote, "waiting",
         absl::StrCat(
             "Job ", request.job(), ": ", DescribePending(request),
             is_index ? ": the folder is large, or its file system does not "
                        "answer."
                      : ": what it waits for does not answer, or is slow.")});
  }
}

}  // namespace

std::vector<Finding> CheckDaemon(const proto::DaemonStatus& status,
                                 const std::string& proc,
                                 const std::string& cgroups) {
  std::vector<Finding> findings = {
      CheckVersions(status), CheckBudget(status),
      CheckIndexDirectory(status.index_directory())};
  const std::vector<std::string> folders =
      CgroupFolders(cgroups, CgroupOf(proc, status.pid()));
  for (const std::optional<Finding>& finding :
       {CheckCgroupMemory(status, folders), CheckCgroupCpu(status, folders),
        CheckLockedMemory(status)}) {
    if (finding.has_value()) findings.push_back(*finding);
  }
  CheckPending(status, &findings);
  for (const std::string& warning : status.warnings()) {
    findings.push_back({Level::kProblem, "warning", warning});
  }
  return findings;
}

}  // namespace forebay::ctl
