#include "tools/forebayctl/host_checks.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "proto/shm_layout.h"
#include "proto/version.h"

namespace forebay::ctl {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

class HostChecksTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "host";
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/proc/1");
    std::filesystem::create_directories(root_ + "/cgroup/a/b");
    status_.set_version(proto::kVersion);
    status_.set_protocol_version(proto::kProtocolVersion);
    status_.set_pid(1);
    status_.set_memory_limit(8 * kGiB);
    status_.set_memory_used(kGiB);
    status_.set_workers(2);
    status_.set_index_directory(root_);
  }

  void Write(const std::string& path, const std::string& text) {
    std::ofstream(root_ + path) << text;
  }

  std::vector<Finding> Check() {
    return CheckDaemon(status_, root_ + "/proc", root_ + "/cgroup");
  }

  Finding Find(const std::string& subject) {
    for (const Finding& finding : Check()) {
      if (finding.subject == subject) return finding;
    }
    return {Finding::Level::kOk, subject, "nothing"};
  }

  std::string root_;
  proto::DaemonStatus status_;
};

TEST_F(HostChecksTest, AHealthyDaemonHasNoProblems) {
  for (const Finding& finding : Check()) {
    EXPECT_NE(finding.level, Finding::Level::kProblem) << finding.sentence;
    EXPECT_EQ(finding.sentence.back(), '.');
  }
}

TEST_F(HostChecksTest, VersionsMustFit) {
  status_.set_version("0.0.1");
  EXPECT_EQ(Find("version").level, Finding::Level::kNote);
  status_.set_protocol_version(99);
  EXPECT_EQ(Find("version").level, Finding::Level::kProblem);
}

TEST_F(HostChecksTest, AFullBudgetIsAProblem) {
  status_.set_memory_used(8 * kGiB - 1);
  EXPECT_EQ(Find("memory").level, Finding::Level::kProblem);
}

TEST_F(HostChecksTest, TheStrictestCgroupCounts) {
  Write("/proc/1/cgroup", "12:cpu:/old\n0::/a/b\n");
  Write("/cgroup/a/memory.max", "4294967296\n");
  Write("/cgroup/a/b/memory.max", "max\n");
  const Finding memory = Find("cgroup memory");
  EXPECT_EQ(memory.level, Finding::Level::kProblem);
  EXPECT_EQ(memory.sentence,
            "The daemon may use 8.00 GiB, but its cgroup allows 4.00 GiB: the "
            "kernel may kill it; lower memory.limit.");
  status_.set_memory_limit(kGiB);
  EXPECT_EQ(Find("cgroup memory").level, Finding::Level::kOk);

  EXPECT_EQ(Find("cgroup CPU").sentence, "nothing");
  Write("/cgroup/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(Find("cgroup CPU").sentence, "The cgroup allows 1.5 CPUs.");
  status_.set_workers(8);
  EXPECT_EQ(Find("cgroup CPU").level, Finding::Level::kNote);
}

TEST_F(HostChecksTest, TheIndexDirectoryMustBeWritable) {
  status_.set_index_directory("");
  EXPECT_EQ(Find("index").level, Finding::Level::kProblem);
  // Not made before the first index.
  status_.set_index_directory(root_ + "/not/yet");
  EXPECT_EQ(Find("index").level, Finding::Level::kOk);
  status_.set_index_directory("/proc/index");
  EXPECT_EQ(Find("index").sentence,
            "/proc/index cannot be created: /proc has no room for files.");
  status_.set_index_directory("/dev/null/index");
  EXPECT_EQ(Find("index").sentence,
            "/dev/null/index cannot be written: dataset indexes are built anew "
            "after every start.");
}

TEST_F(HostChecksTest, TheDaemonsWarningsAreProblems) {
  status_.add_warnings("The disk is full.");
  EXPECT_EQ(Find("warning").level, Finding::Level::kProblem);
  EXPECT_EQ(Find("warning").sentence, "The disk is full.");
}

TEST_F(HostChecksTest, WhatJobsWaitForIsSaid) {
  proto::PendingRequest& request = *status_.add_pending();
  request.set_job("resnet");
  request.set_uri("/mnt/train");
  request.set_seconds(4);
  EXPECT_EQ(Find("waiting").sentence, "nothing");
  request.set_seconds(90);
  EXPECT_EQ(Find("waiting").level, Finding::Level::kNote);
  EXPECT_EQ(Find("waiting").sentence,
            "Job resnet: opening /mnt/train for 1 min 30 s: the folder is "
            "large, or its file system does not answer.");
  request.set_host("http://10.0.0.7:8080");
  EXPECT_EQ(Find("waiting").level, Finding::Level::kProblem);
  request.set_seconds(12);
  EXPECT_EQ(Find("waiting").level, Finding::Level::kNote);
  EXPECT_EQ(Find("waiting").sentence,
            "Job resnet: opening, waits for http://10.0.0.7:8080 for 12 s: "
            "what it waits for does not answer, or is slow.");
}

TEST_F(HostChecksTest, WhatReadsLocalFilesIsSaid) {
  EXPECT_TRUE(CheckStorage(status_).empty()) << "an older daemon";
  proto::LocalReads& reads = *status_.mutable_local_reads();
  reads.set_threads(4);
  EXPECT_EQ(CheckStorage(status_).at(0).level, Finding::Level::kOk);
  EXPECT_EQ(CheckStorage(status_).at(0).sentence,
            "Local files are read by 4 threads: storage.io_uring is \"off\".");
  reads.set_refusal("io_uring is forbidden here");
  EXPECT_EQ(CheckStorage(status_).at(0).level, Finding::Level::kNote);
  EXPECT_EQ(CheckStorage(status_).at(0).sentence,
            "Local files are read by 4 threads: io_uring is forbidden here.");
  reads.clear_refusal();
  reads.set_io_uring(true);
  EXPECT_EQ(CheckStorage(status_).at(0).level, Finding::Level::kOk);
  EXPECT_EQ(CheckStorage(status_).at(0).sentence,
            "Local files are read through io_uring.");
}

TEST_F(HostChecksTest, WhoReadsBucketsIsSaidOnceItIsKnown) {
  status_.set_bucket_credentials("the service account a@b");
  EXPECT_EQ(CheckStorage(status_).at(0).level, Finding::Level::kOk);
  EXPECT_EQ(CheckStorage(status_).at(0).sentence,
            "Buckets are read with the service account a@b.");
}

TEST_F(HostChecksTest, GpusAreListed) {
  EXPECT_TRUE(CheckGpus(status_).empty()) << "an older daemon";
  proto::Gpus& gpus = *status_.mutable_gpus();
  gpus.set_driver_version("580.65.06");
  gpus.set_cuda_version("13.0");
  for (int i = 0; i < 2; ++i) {
    proto::Gpu& gpu = *gpus.add_devices();
    gpu.set_ordinal(static_cast<std::uint32_t>(i));
    gpu.set_uuid("01234567-89ab-cdef-0123-456789012345");
    gpu.set_name("NVIDIA L4");
    gpu.set_memory_bytes(24 * kGiB);
    gpu.set_compute_major(8);
    gpu.set_compute_minor(9);
    gpu.set_pci_address("0000:00:03.0");
    gpu.set_numa_node(i - 1);
  }
  gpus.mutable_devices(1)->add_notes("It is slow today.");
  const std::vector<Finding> findings = CheckGpus(status_);
  ASSERT_EQ(findings.size(), 4);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(findings[i].level, Finding::Level::kOk);
  }
  EXPECT_EQ(findings[0].sentence, "The driver 580.65.06 serves CUDA 13.0.");
  EXPECT_EQ(findings[1].sentence,
            "NVIDIA L4, 24.0 GiB, compute capability 8.9, PCI 0000:00:03.0, "
            "01234567-89ab-cdef-0123-456789012345.");
  EXPECT_EQ(findings[2].subject, "GPU 1");
  EXPECT_NE(findings[2].sentence.find("PCI 0000:00:03.0, NUMA node 0, "),
            std::string::npos);
  EXPECT_EQ(findings[3].level, Finding::Level::kNote);
  EXPECT_EQ(findings[3].subject, "GPU 1");
  EXPECT_EQ(findings[3].sentence, "It is slow today.");
}

TEST_F(HostChecksTest, NoGpuIsNoProblem) {
  status_.mutable_gpus()->set_absence("the driver is on holiday");
  const std::vector<Finding> findings = CheckGpus(status_);
  ASSERT_EQ(findings.size(), 1);
  EXPECT_EQ(findings[0].level, Finding::Level::kNote);
  EXPECT_EQ(findings[0].sentence,
            "The daemon sees no GPU: the driver is on holiday.");
}

TEST(KernelChecksTest, EveryFeatureIsTried) {
  const std::vector<Finding> findings = CheckKernel();
  ASSERT_GE(findings.size(), 4);
  // Forebay's tests run only where its first three needs are met.
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(findings[i].level, Finding::Level::kOk) << findings[i].sentence;
  }
}

}  // namespace
}  // namespace forebay::ctl
