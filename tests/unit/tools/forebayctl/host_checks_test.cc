#include "tools/forebayctl/host_checks.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "proto/shm_layout.h"
#include "proto/version.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/temp_dir.h"

namespace forebay::ctl {
namespace {

using tests::Contains;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

class HostChecksTest {
 protected:
  HostChecksTest() {
    root_ = tests::TempDir() + "host";
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

TEST_CASE_METHOD(HostChecksTest,
                 "A healthy daemon has no problems in the host checks",
                 "[forebayctl][host_checks]") {
  for (const Finding& finding : Check()) {
    CAPTURE(finding.sentence);
    CHECK(finding.level != Finding::Level::kProblem);
    CHECK(finding.sentence.back() == '.');
  }
}

TEST_CASE_METHOD(HostChecksTest,
                 "The versions of forebayctl and the daemon must fit",
                 "[forebayctl][host_checks]") {
  status_.set_version("0.0.1");
  CHECK(Find("version").level == Finding::Level::kNote);
  status_.set_protocol_version(99);
  CHECK(Find("version").level == Finding::Level::kProblem);
}

TEST_CASE_METHOD(HostChecksTest,
                 "A full memory budget is a problem in the host checks",
                 "[forebayctl][host_checks]") {
  status_.set_memory_used(8 * kGiB - 1);
  CHECK(Find("memory").level == Finding::Level::kProblem);
}

TEST_CASE_METHOD(HostChecksTest,
                 "The strictest cgroup counts in the host checks",
                 "[forebayctl][host_checks]") {
  Write("/proc/1/cgroup", "12:cpu:/old\n0::/a/b\n");
  Write("/cgroup/a/memory.max", "4294967296\n");
  Write("/cgroup/a/b/memory.max", "max\n");
  const Finding memory = Find("cgroup memory");
  CHECK(memory.level == Finding::Level::kProblem);
  CHECK(memory.sentence ==
        "The daemon may use 8.00 GiB, but its cgroup allows 4.00 GiB: the "
        "kernel may kill it; lower memory.limit.");
  status_.set_memory_limit(kGiB);
  CHECK(Find("cgroup memory").level == Finding::Level::kOk);

  CHECK(Find("cgroup CPU").sentence == "nothing");
  Write("/cgroup/a/cpu.max", "150000 100000\n");
  CHECK(Find("cgroup CPU").sentence == "The cgroup allows 1.5 CPUs.");
  status_.set_workers(8);
  CHECK(Find("cgroup CPU").level == Finding::Level::kNote);
}

TEST_CASE_METHOD(HostChecksTest,
                 "The host checks require that the index directory is writable",
                 "[forebayctl][host_checks]") {
  status_.set_index_directory("");
  CHECK(Find("index").level == Finding::Level::kProblem);
  // The directory is created with the first index, so it may be missing before.
  status_.set_index_directory(root_ + "/not/yet");
  CHECK(Find("index").level == Finding::Level::kOk);
  status_.set_index_directory("/proc/index");
  CHECK(Find("index").sentence ==
        "/proc/index cannot be created: /proc has no room for files.");
  status_.set_index_directory("/dev/null/index");
  CHECK(Find("index").sentence ==
        "/dev/null/index cannot be written: dataset indexes are built anew "
        "after every start.");
}

TEST_CASE_METHOD(HostChecksTest,
                 "The daemon's warnings are problems in the host checks",
                 "[forebayctl][host_checks]") {
  status_.add_warnings("The disk is full.");
  CHECK(Find("warning").level == Finding::Level::kProblem);
  CHECK(Find("warning").sentence == "The disk is full.");
}

TEST_CASE_METHOD(HostChecksTest, "The host checks say what jobs wait for",
                 "[forebayctl][host_checks]") {
  proto::PendingRequest& request = *status_.add_pending();
  request.set_job("resnet");
  request.set_uri("/mnt/train");
  request.set_seconds(4);
  CHECK(Find("waiting").sentence == "nothing");
  request.set_seconds(90);
  CHECK(Find("waiting").level == Finding::Level::kNote);
  CHECK(Find("waiting").sentence ==
        "Job resnet: opening /mnt/train for 1 min 30 s: the folder is "
        "large, or its file system does not answer.");
  request.set_host("http://10.0.0.7:8080");
  CHECK(Find("waiting").level == Finding::Level::kProblem);
  request.set_seconds(12);
  CHECK(Find("waiting").level == Finding::Level::kNote);
  CHECK(Find("waiting").sentence ==
        "Job resnet: opening, waits for http://10.0.0.7:8080 for 12 s: "
        "what it waits for does not answer, or is slow.");
}

TEST_CASE_METHOD(HostChecksTest, "The host checks say what reads local files",
                 "[forebayctl][host_checks]") {
  UNSCOPED_INFO("an older daemon");
  CHECK(CheckStorage(status_).empty());
  proto::LocalReads& reads = *status_.mutable_local_reads();
  reads.set_threads(4);
  CHECK(CheckStorage(status_).at(0).level == Finding::Level::kOk);
  CHECK(CheckStorage(status_).at(0).sentence ==
        "Local files are read by 4 threads: storage.io_uring is \"off\".");
  reads.set_refusal("io_uring is forbidden here");
  CHECK(CheckStorage(status_).at(0).level == Finding::Level::kNote);
  CHECK(CheckStorage(status_).at(0).sentence ==
        "Local files are read by 4 threads: io_uring is forbidden here.");
  reads.clear_refusal();
  reads.set_io_uring(true);
  CHECK(CheckStorage(status_).at(0).level == Finding::Level::kOk);
  CHECK(CheckStorage(status_).at(0).sentence ==
        "Local files are read through io_uring.");
}

TEST_CASE_METHOD(HostChecksTest,
                 "The host checks say who reads buckets once it is known",
                 "[forebayctl][host_checks]") {
  status_.set_bucket_credentials("the service account a@b");
  CHECK(CheckStorage(status_).at(0).level == Finding::Level::kOk);
  CHECK(CheckStorage(status_).at(0).sentence ==
        "Buckets are read with the service account a@b.");
}

TEST_CASE_METHOD(HostChecksTest, "The host checks list GPUs",
                 "[forebayctl][host_checks]") {
  UNSCOPED_INFO("an older daemon");
  CHECK(CheckGpus(status_).empty());
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
  REQUIRE(findings.size() == 4);
  for (int i = 0; i < 3; ++i) {
    CHECK(findings[i].level == Finding::Level::kOk);
  }
  CHECK(findings[0].sentence == "The driver 580.65.06 serves CUDA 13.0.");
  CHECK(findings[1].sentence ==
        "NVIDIA L4, 24.0 GiB, compute capability 8.9, PCI 0000:00:03.0, "
        "01234567-89ab-cdef-0123-456789012345.");
  CHECK(findings[2].subject == "GPU 1");
  CHECK_THAT(findings[2].sentence, Contains("PCI 0000:00:03.0, NUMA node 0, "));
  CHECK(findings[3].level == Finding::Level::kNote);
  CHECK(findings[3].subject == "GPU 1");
  CHECK(findings[3].sentence == "It is slow today.");
}

TEST_CASE_METHOD(HostChecksTest,
                 "The lack of a GPU is not a problem in the host checks",
                 "[forebayctl][host_checks]") {
  status_.mutable_gpus()->set_absence("the driver is on holiday");
  const std::vector<Finding> findings = CheckGpus(status_);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].level == Finding::Level::kNote);
  CHECK(findings[0].sentence ==
        "The daemon sees no GPU: the driver is on holiday.");
}

TEST_CASE("The kernel checks try every feature", "[forebayctl][host_checks]") {
  const std::vector<Finding> findings = CheckKernel();
  REQUIRE(findings.size() >= 4);
  // Forebay's tests run only on hosts that meet its first three needs.
  for (int i = 0; i < 3; ++i) {
    UNSCOPED_INFO(findings[i].sentence);
    CHECK(findings[i].level == Finding::Level::kOk);
  }
}

}  // namespace
}  // namespace forebay::ctl
