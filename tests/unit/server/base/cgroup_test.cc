#include "server/base/cgroup.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/temp_dir.h"

namespace forebay::base {
namespace {

// The parts of a machine that are files: its cgroups and its /proc.
class CgroupTest {
 protected:
  CgroupTest() {
    std::string name = tests::TempDir() + "/forebay_XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    root_ = name;
    Write("proc/meminfo",
          "MemTotal:       16384000 kB\nMemFree:         1000 kB\n");
  }
  ~CgroupTest() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  void Write(const std::string& path, const std::string& content) {
    const std::filesystem::path whole = std::filesystem::path(root_) / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << content;
  }

  std::string root_;
};

constexpr std::uint64_t kMachine = std::uint64_t{16384000} * 1024;

TEST_CASE_METHOD(CgroupTest,
                 "Without cgroups the machine is the limit of CPUs and memory",
                 "[base][cgroup]") {
  CHECK(CgroupCpuQuota(root_) == std::nullopt);
  CHECK(CgroupMemoryLimit(root_) == std::nullopt);
  CHECK(ReadCgroupLimits(root_).memory_bytes == kMachine);
  cpu_set_t set;
  REQUIRE(sched_getaffinity(0, sizeof(set), &set) == 0);
  CHECK(ReadCgroupLimits(root_).cpus == CPU_COUNT(&set));
}

TEST_CASE_METHOD(CgroupTest,
                 "The affinity of the process counts in the limit of CPUs",
                 "[base][cgroup]") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof(before), &before) == 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
  CHECK(ReadCgroupLimits(root_).cpus == 1);
  REQUIRE(sched_setaffinity(0, sizeof(before), &before) == 0);
}

TEST_CASE_METHOD(CgroupTest,
                 "Cgroups of version 2 take the tightest limit on the way up",
                 "[base][cgroup]") {
  Write("proc/self/cgroup", "0::/a.slice/b.service\n");
  Write("sys/fs/cgroup/a.slice/b.service/cpu.max", "max 100000\n");
  Write("sys/fs/cgroup/a.slice/b.service/memory.max", "8589934592\n");
  Write("sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n");
  Write("sys/fs/cgroup/a.slice/memory.max", "4294967296\n");
  Write("sys/fs/cgroup/other/cpu.max", "1000 100000\n");
  CHECK(CgroupCpuQuota(root_) == 1.5);
  CHECK(CgroupMemoryLimit(root_) == std::uint64_t{4} << 30);
  CHECK(ReadCgroupLimits(root_).memory_bytes == std::uint64_t{4} << 30);
}

TEST_CASE_METHOD(
    CgroupTest,
    "Cgroups of version 2 without limits leave the machine as the limit",
    "[base][cgroup]") {
  Write("proc/self/cgroup", "0::/a\n");
  Write("sys/fs/cgroup/a/cpu.max", "max 100000\n");
  Write("sys/fs/cgroup/a/memory.max", "max\n");
  CHECK(CgroupCpuQuota(root_) == std::nullopt);
  CHECK(ReadCgroupLimits(root_).memory_bytes == kMachine);
}

// In a container, the path in /proc may be the host's. The container's own
// cgroup is then at the top of the mount.
TEST_CASE_METHOD(CgroupTest,
                 "A container's own cgroup is at the top of the mount",
                 "[base][cgroup]") {
  Write("proc/self/cgroup", "0::/docker/0123\n");
  Write("sys/fs/cgroup/cpu.max", "50000 100000\n");
  Write("sys/fs/cgroup/memory.max", "1073741824\n");
  CHECK(CgroupCpuQuota(root_) == 0.5);
  CHECK(ReadCgroupLimits(root_).cpus == 1);
  CHECK(ReadCgroupLimits(root_).memory_bytes == std::uint64_t{1} << 30);
  Write("proc/self/cgroup", "0::/../../other\n");
  CHECK(CgroupCpuQuota(root_) == 0.5);
}

TEST_CASE_METHOD(CgroupTest, "Cgroups of version 1 limit CPUs and memory",
                 "[base][cgroup]") {
  Write("proc/self/cgroup",
        "12:memory:/docker/0123\n3:cpu,cpuacct:/docker/0123\n"
        "1:name=systemd:/x:y\n0::/\n");
  Write("sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "2147483648\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("sys/fs/cgroup/cpu,cpuacct/docker/0123/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/cpu,cpuacct/docker/0123/cpu.cfs_period_us", "100000\n");
  CHECK(CgroupCpuQuota(root_) == std::nullopt);
  CHECK(CgroupMemoryLimit(root_) == std::uint64_t{2} << 30);
  Write("sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "25000\n");
  Write("sys/fs/cgroup/cpu/docker/cpu.cfs_period_us", "10000\n");
  CHECK(CgroupCpuQuota(root_) == 2.5);
}

TEST_CASE_METHOD(CgroupTest, "Garbage in cgroup files limits nothing",
                 "[base][cgroup]") {
  Write("proc/self/cgroup", "\n::\n0\n0::a\n0::/a\nx:cpu,memory:/\n");
  Write("proc/meminfo", "MemTotal: much kB\n");
  Write("sys/fs/cgroup/a/cpu.max", "0 0\n");
  Write("sys/fs/cgroup/cpu.max", "-5 -7");
  Write("sys/fs/cgroup/a/memory.max", "99999999999999999999999\n");
  Write("sys/fs/cgroup/memory.max", "-1");
  CHECK(CgroupCpuQuota(root_) == std::nullopt);
  CHECK(CgroupMemoryLimit(root_) == std::nullopt);
  CHECK(ReadCgroupLimits(root_).memory_bytes == 0);
  CHECK(ReadCgroupLimits(root_).cpus >= 1);
}

TEST_CASE_METHOD(
    CgroupTest,
    "Available memory of a cgroup is what files take and what nobody takes",
    "[base][cgroup]") {
  CHECK(AvailableMemory(root_) == 0);
  Write("proc/meminfo", "MemTotal: 16384000 kB\nMemAvailable: 1000 kB\n");
  CHECK(AvailableMemory(root_) == 1000 * 1024);
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("sys/fs/cgroup/a/b/memory.max", "max\n");
  Write("sys/fs/cgroup/a/memory.max", "500000\n");
  Write("sys/fs/cgroup/a/memory.current", "450000\n");
  CHECK(AvailableMemory(root_) == 50000);
  Write("sys/fs/cgroup/a/memory.stat",
        "anon 100\ninactive_file 30000\nactive_file 20000\n");
  CHECK(AvailableMemory(root_) == 100000);
  Write("sys/fs/cgroup/a/memory.current", "900000\n");
  CHECK(AvailableMemory(root_) == 0);
}

TEST_CASE_METHOD(
    CgroupTest,
    "Available memory in cgroups of version 1 counts what files take",
    "[base][cgroup]") {
  Write("proc/meminfo", "MemAvailable: 1000 kB\n");
  Write("proc/self/cgroup", "12:memory:/a\n");
  Write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "500000\n");
  Write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "450000\n");
  Write("sys/fs/cgroup/memory/a/memory.stat",
        "inactive_file 1\ntotal_inactive_file 30000\nactive_file 2\n"
        "total_active_file 20000\n");
  CHECK(AvailableMemory(root_) == 100000);
}

TEST_CASE("The cgroup reader finds the limits of this machine",
          "[base][cgroup]") {
  CHECK(AvailableMemory() >= std::uint64_t{1} << 20);
  CHECK(ReadCgroupLimits().cpus >= 1);
  CHECK(ReadCgroupLimits().memory_bytes >= std::uint64_t{1} << 20);
}

}  // namespace
}  // namespace forebay::base
