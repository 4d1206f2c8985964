#include "server/base/cgroup.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace forebay::base {
namespace {

// A machine made of files.
class CgroupTest : public ::testing::Test {
 protected:
  CgroupTest() {
    std::string name = ::testing::TempDir() + "/forebay_XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    root_ = name;
    Write("proc/meminfo",
          "MemTotal:       16384000 kB\nMemFree:         1000 kB\n");
  }
  ~CgroupTest() override {
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

TEST_F(CgroupTest, WithoutCgroupsTheMachineIsTheLimit) {
  EXPECT_EQ(CgroupCpuQuota(root_), std::nullopt);
  EXPECT_EQ(CgroupMemoryLimit(root_), std::nullopt);
  EXPECT_EQ(ReadCgroupLimits(root_).memory_bytes, kMachine);
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  EXPECT_EQ(ReadCgroupLimits(root_).cpus, CPU_COUNT(&set));
}

TEST_F(CgroupTest, TheAffinityCounts) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(ReadCgroupLimits(root_).cpus, 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST_F(CgroupTest, Version2TakesTheTightestOnTheWayUp) {
  Write("proc/self/cgroup", "0::/a.slice/b.service\n");
  Write("sys/fs/cgroup/a.slice/b.service/cpu.max", "max 100000\n");
  Write("sys/fs/cgroup/a.slice/b.service/memory.max", "8589934592\n");
  Write("sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n");
  Write("sys/fs/cgroup/a.slice/memory.max", "4294967296\n");
  Write("sys/fs/cgroup/other/cpu.max", "1000 100000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), 1.5);
  EXPECT_EQ(CgroupMemoryLimit(root_), std::uint64_t{4} << 30);
  EXPECT_EQ(ReadCgroupLimits(root_).memory_bytes, std::uint64_t{4} << 30);
}

TEST_F(CgroupTest, Version2WithoutLimits) {
  Write("proc/self/cgroup", "0::/a\n");
  Write("sys/fs/cgroup/a/cpu.max", "max 100000\n");
  Write("sys/fs/cgroup/a/memory.max", "max\n");
  EXPECT_EQ(CgroupCpuQuota(root_), std::nullopt);
  EXPECT_EQ(ReadCgroupLimits(root_).memory_bytes, kMachine);
}

// In a container the path may be the host's, and the container's own cgroup is
// at the top of the mount.
TEST_F(CgroupTest, AContainersOwnCgroupIsAtTheTop) {
  Write("proc/self/cgroup", "0::/docker/0123\n");
  Write("sys/fs/cgroup/cpu.max", "50000 100000\n");
  Write("sys/fs/cgroup/memory.max", "1073741824\n");
  EXPECT_EQ(CgroupCpuQuota(root_), 0.5);
  EXPECT_EQ(ReadCgroupLimits(root_).cpus, 1);
  EXPECT_EQ(ReadCgroupLimits(root_).memory_bytes, std::uint64_t{1} << 30);
  Write("proc/self/cgroup", "0::/../../other\n");
  EXPECT_EQ(CgroupCpuQuota(root_), 0.5);
}

TEST_F(CgroupTest, Version1) {
  Write("proc/self/cgroup",
        "12:memory:/docker/0123\n3:cpu,cpuacct:/docker/0123\n"
        "1:name=systemd:/x:y\n0::/\n");
  Write("sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "2147483648\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("sys/fs/cgroup/cpu,cpuacct/docker/0123/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/cpu,cpuacct/docker/0123/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), std::nullopt);
  EXPECT_EQ(CgroupMemoryLimit(root_), std::uint64_t{2} << 30);
  Write("sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "25000\n");
  Write("sys/fs/cgroup/cpu/docker/cpu.cfs_period_us", "10000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), 2.5);
}

TEST_F(CgroupTest, GarbageLimitsNothing) {
  Write("proc/self/cgroup", "\n::\n0\n0::a\n0::/a\nx:cpu,memory:/\n");
  Write("proc/meminfo", "MemTotal: much kB\n");
  Write("sys/fs/cgroup/a/cpu.max", "0 0\n");
  Write("sys/fs/cgroup/cpu.max", "-5 -7");
  Write("sys/fs/cgroup/a/memory.max", "99999999999999999999999\n");
  Write("sys/fs/cgroup/memory.max", "-1");
  EXPECT_EQ(CgroupCpuQuota(root_), std::nullopt);
  EXPECT_EQ(CgroupMemoryLimit(root_), std::nullopt);
  EXPECT_EQ(ReadCgroupLimits(root_).memory_bytes, 0);
  EXPECT_GE(ReadCgroupLimits(root_).cpus, 1);
}

TEST_F(CgroupTest, AvailableIsWhatFilesTakeAndNobody) {
  EXPECT_EQ(AvailableMemory(root_), 0);
  Write("proc/meminfo", "MemTotal: 16384000 kB\nMemAvailable: 1000 kB\n");
  EXPECT_EQ(AvailableMemory(root_), 1000 * 1024);
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("sys/fs/cgroup/a/b/memory.max", "max\n");
  Write("sys/fs/cgroup/a/memory.max", "500000\n");
  Write("sys/fs/cgroup/a/memory.current", "450000\n");
  EXPECT_EQ(AvailableMemory(root_), 50000);
  Write("sys/fs/cgroup/a/memory.stat",
        "anon 100\ninactive_file 30000\nactive_file 20000\n");
  EXPECT_EQ(AvailableMemory(root_), 100000);
  Write("sys/fs/cgroup/a/memory.current", "900000\n");
  EXPECT_EQ(AvailableMemory(root_), 0);
}

TEST_F(CgroupTest, AvailableInVersion1) {
  Write("proc/meminfo", "MemAvailable: 1000 kB\n");
  Write("proc/self/cgroup", "12:memory:/a\n");
  Write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "500000\n");
  Write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "450000\n");
  Write("sys/fs/cgroup/memory/a/memory.stat",
        "inactive_file 1\ntotal_inactive_file 30000\nactive_file 2\n"
        "total_active_file 20000\n");
  EXPECT_EQ(AvailableMemory(root_), 100000);
}

TEST(CgroupRealTest, ThisMachineHasLimits) {
  EXPECT_GE(AvailableMemory(), std::uint64_t{1} << 20);
  EXPECT_GE(ReadCgroupLimits().cpus, 1);
  EXPECT_GE(ReadCgroupLimits().memory_bytes, std::uint64_t{1} << 20);
}

}  // namespace
}  // namespace forebay::base
