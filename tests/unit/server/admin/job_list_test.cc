#include "server/admin/job_list.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>
#include <optional>

#include "cuda/fake_driver.h"
#include "tests/unit/server/admin/fake_introspection.h"

namespace forebay::admin {
namespace {

TEST(JobListTest, CarriesEverything) {
  cache::Snapshot cache;
  cache.jobs[ResnetJob().id].shared = {3, 300};
  const proto::JobList list = ToProto({ResnetJob()}, cache);
  ASSERT_EQ(list.jobs_size(), 1);
  const proto::Job& job = list.jobs(0);
  EXPECT_EQ(job.key(), "slurm-17");
  EXPECT_EQ(job.name(), "resnet");
  EXPECT_EQ(job.weight(), 2);
  EXPECT_EQ(job.uid(), 1000);
  ASSERT_EQ(job.pids_size(), 2);
  EXPECT_EQ(job.pids(1), 4712);
  ASSERT_EQ(job.loaders_size(), 2);
  const proto::Loader& train = job.loaders(0);
  EXPECT_EQ(train.name(), "train");
  EXPECT_EQ(train.position(), 500);
  EXPECT_TRUE(train.running());
  EXPECT_EQ(train.counters().bytes_read(), 117'500'000);
  EXPECT_EQ(train.counters().trainer_wait_nanos(), 250'000'000);
  EXPECT_EQ(train.queues().slots_ready(), 2);
  EXPECT_EQ(train.queues().bytes_in_flight(), 188'000);
  EXPECT_EQ(train.queues().depth(), 3);
  EXPECT_EQ(train.queues().window_bytes(), 16 << 20);
  EXPECT_EQ(job.loaders(1).uri(), "/data/val?");
  EXPECT_EQ(job.traffic().shared().reads(), 3);
  EXPECT_EQ(job.traffic().shared().bytes(), 300);
}

TEST(JobListTest, RemoteRequestsAreCountedByJob) {
  job::JobSnapshot one = ResnetJob();
  one.id = 7;
  job::JobSnapshot other = ResnetJob();
  other.id = 8;
  DaemonInfo info;
  info.remote_requests = {{.lists = 3, .bytes = 30},
                          {.job = 8,
                           .reads = 5,
                           .others = 1,
                           .retries = 2,
                           .hedges = 1,
                           .failures = 2,
                           .bytes = 100}};
  const proto::JobList list = ToProto({one, other}, {}, info.remote_requests);
  EXPECT_FALSE(list.jobs(0).has_remote_requests());
  const proto::RemoteRequests& of = list.jobs(1).remote_requests();
  EXPECT_EQ(of.reads(), 5);
  EXPECT_EQ(of.others(), 1);
  EXPECT_EQ(of.retries(), 2);
  EXPECT_EQ(of.hedges(), 1);
  EXPECT_EQ(of.failures(), 2);
  EXPECT_EQ(of.bytes(), 100);
  const proto::RemoteRequests all = ToProto(info, {}).remote_requests();
  EXPECT_EQ(all.reads(), 5);
  EXPECT_EQ(all.lists(), 3);
  EXPECT_EQ(all.bytes(), 130);
}

TEST(JobListTest, APortionsNumberIsNoPartOfTheEpochs) {
  job::JobSnapshot job = ResnetJob();
  job.loaders[0].stream.epoch = (std::uint64_t{7} << 40) + 5;
  EXPECT_EQ(ToProto({job}, {}).jobs(0).loaders(0).epoch(), 5);
}

TEST(JobListTest, SourcesTellTheirState) {
  DaemonInfo info;
  info.sources = {{"files",
                   {.concurrency = 64,
                    .in_flight = 3,
                    .waiting = 12,
                    .request_cost = 100'000}},
                  {"web", {}}};
  const proto::DaemonStatus status = ToProto(info, {});
  ASSERT_EQ(status.sources_size(), 2);
  EXPECT_EQ(status.sources(0).name(), "files");
  EXPECT_EQ(status.sources(0).concurrency(), 64);
  EXPECT_EQ(status.sources(0).in_flight(), 3);
  EXPECT_EQ(status.sources(0).waiting(), 12);
  EXPECT_EQ(status.sources(0).request_cost(), 100'000);
  EXPECT_EQ(status.sources(1).name(), "web");
}

TEST(JobListTest, NoCapIsZeroBothWays) {
  job::JobSnapshot capped = ResnetJob();
  capped.max_read = 200e6;
  capped.max_cpus = 1.5;
  const proto::JobList list = ToProto({ResnetJob(), capped}, {});
  EXPECT_EQ(list.jobs(0).max_read_bytes_per_second(), 0);
  EXPECT_EQ(list.jobs(0).max_cpus(), 0);
  EXPECT_EQ(list.jobs(1).max_read_bytes_per_second(), 200e6);
  EXPECT_EQ(list.jobs(1).max_cpus(), 1.5);

  proto::SetJobRequest request;
  EXPECT_EQ(FromProto(request).weight, std::nullopt);
  EXPECT_EQ(FromProto(request).max_read, std::nullopt);
  EXPECT_EQ(FromProto(request).max_cpus, std::nullopt);
  request.set_weight(3);
  request.set_max_read_bytes_per_second(0);
  request.set_max_cpus(2);
  EXPECT_EQ(FromProto(request).weight, 3);
  EXPECT_EQ(FromProto(request).max_read,
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(FromProto(request).max_cpus, 2);
}

TEST(JobListTest, StatusCountsJobsAndLoaders) {
  DaemonInfo info;
  info.version = "1.2.3";
  info.memory_limit = 8;
  info.producers = {
      .count = 2, .memory_used = 3, .memory_limit = 5, .ended = 7};
  info.local_reads = {true, 4, ""};
  info.bucket_credentials = "somebody\xFF";
  info.warnings = {"The index is kept in memory."};
  const proto::DaemonStatus status = ToProto(info, {ResnetJob(), ResnetJob()});
  EXPECT_EQ(status.version(), "1.2.3");
  EXPECT_EQ(status.pid(), getpid());
  EXPECT_EQ(status.memory_limit(), 8);
  EXPECT_EQ(status.producers().count(), 2);
  EXPECT_EQ(status.producers().memory_used(), 3);
  EXPECT_EQ(status.producers().memory_limit(), 5);
  EXPECT_EQ(status.producers().ended(), 7);
  EXPECT_EQ(status.jobs(), 2);
  EXPECT_EQ(status.loaders(), 4);
  EXPECT_TRUE(status.local_reads().io_uring());
  EXPECT_EQ(status.local_reads().threads(), 4);
  EXPECT_EQ(status.bucket_credentials(), "somebody?");
  EXPECT_EQ(status.warnings(0), "The index is kept in memory.");
}

TEST(JobListTest, PendingRequestsAreInBothLists) {
  job::JobSnapshot job = ResnetJob();
  job.pending = {{.kind = job::PendingRequest::Kind::kFetching,
                  .uri = "http://host/\xFF",
                  .host = "http://host",
                  .since_nanos = 1'000'000'000},
                 {.uri = "/data", .since_nanos = 9'000'000'000}};
  constexpr std::int64_t kNow = 5'500'000'000;
  const proto::JobList list = ToProto({job}, {}, {}, kNow);
  const proto::DaemonStatus status = ToProto(DaemonInfo(), {job}, kNow);
  for (const auto& pending : {list.jobs(0).pending(), status.pending()}) {
    ASSERT_EQ(pending.size(), 2);
    EXPECT_EQ(pending[0].kind(), proto::PendingRequest::FETCHING);
    EXPECT_EQ(pending[0].job(), "resnet");
    EXPECT_EQ(pending[0].uri(), "http://host/?");
    EXPECT_EQ(pending[0].host(), "http://host");
    EXPECT_EQ(pending[0].seconds(), 4.5);
    EXPECT_EQ(pending[1].kind(), proto::PendingRequest::OPENING);
    EXPECT_EQ(pending[1].seconds(), 0) << "it came after the snapshot";
  }
}

TEST(JobListTest, StatusHasTheGpus) {
  DaemonInfo info;
  info.gpus = cuda::FakeDriver(3).inventory();
  info.gpus.devices[2].name = "\xFF";
  const proto::Gpus gpus = ToProto(info, {}).gpus();
  EXPECT_EQ(gpus.absence(), "");
  EXPECT_EQ(gpus.driver_version(), "1.2.3");
  EXPECT_EQ(gpus.cuda_version(), "12.4");
  ASSERT_EQ(gpus.devices_size(), 3);
  const proto::Gpu& last = gpus.devices(2);
  EXPECT_EQ(last.ordinal(), 2);
  EXPECT_EQ(last.uuid(), "00000000-0000-0000-0000-000000000002");
  EXPECT_EQ(last.name(), "?");
  EXPECT_EQ(last.memory_bytes(), std::uint64_t{16} << 30);
  EXPECT_EQ(last.compute_major(), 8);
  EXPECT_EQ(last.pci_address(), "0000:03:00.0");
  EXPECT_EQ(last.numa_node(), 1);
  EXPECT_EQ(last.notes_size(), 0);
  info.gpus = {};
  info.gpus.absence = "none";
  EXPECT_EQ(ToProto(info, {}).gpus().absence(), "none");
}

}  // namespace
}  // namespace forebay::admin
