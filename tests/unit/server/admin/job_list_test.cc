#include "server/admin/job_list.h"

#include <unistd.h>

#include <limits>
#include <optional>

#include "cuda/fake_driver.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/admin/fake_introspection.h"

namespace forebay::admin {
namespace {

TEST_CASE("The job list carries everything of a job and its loaders",
          "[admin][job_list]") {
  cache::CacheSnapshot cache;
  cache.jobs[ResnetJob().id].shared = {3, 300};
  const proto::JobList list = ToProto({ResnetJob()}, cache);
  REQUIRE(list.jobs_size() == 1);
  const proto::Job& job = list.jobs(0);
  CHECK(job.key() == "slurm-17");
  CHECK(job.name() == "resnet");
  CHECK(job.weight() == 2);
  CHECK(job.uid() == 1000);
  REQUIRE(job.pids_size() == 2);
  CHECK(job.pids(1) == 4712);
  REQUIRE(job.loaders_size() == 2);
  const proto::Loader& train = job.loaders(0);
  CHECK(train.name() == "train");
  CHECK(train.position() == 500);
  CHECK(train.running());
  CHECK(train.counters().bytes_read() == 117'500'000);
  CHECK(train.counters().trainer_wait_nanos() == 250'000'000);
  CHECK(train.queues().slots_ready() == 2);
  CHECK(train.queues().bytes_in_flight() == 188'000);
  CHECK(train.queues().depth() == 3);
  CHECK(train.queues().window_bytes() == 16 << 20);
  CHECK(job.loaders(1).uri() == "/data/val?");
  CHECK(job.traffic().shared().reads() == 3);
  CHECK(job.traffic().shared().bytes() == 300);
}

TEST_CASE("The job list counts remote requests by job", "[admin][job_list]") {
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
  CHECK_FALSE(list.jobs(0).has_remote_requests());
  const proto::RemoteRequests& of = list.jobs(1).remote_requests();
  CHECK(of.reads() == 5);
  CHECK(of.others() == 1);
  CHECK(of.retries() == 2);
  CHECK(of.hedges() == 1);
  CHECK(of.failures() == 2);
  CHECK(of.bytes() == 100);
  const proto::RemoteRequests all = ToProto(info, {}).remote_requests();
  CHECK(all.reads() == 5);
  CHECK(all.lists() == 3);
  CHECK(all.bytes() == 130);
}

TEST_CASE(
    "A portion's number is not a part of the epoch's number in the job list",
    "[admin][job_list]") {
  job::JobSnapshot job = ResnetJob();
  job.loaders[0].stream.epoch = (std::uint64_t{7} << 40) + 5;
  CHECK(ToProto({job}, {}).jobs(0).loaders(0).epoch() == 5);
}

TEST_CASE("Sources tell their state in the daemon's status",
          "[admin][job_list]") {
  DaemonInfo info;
  info.sources = {{"files",
                   {.concurrency = 64,
                    .in_flight = 3,
                    .waiting = 12,
                    .request_cost = 100'000}},
                  {"web", {}}};
  const proto::DaemonStatus status = ToProto(info, {});
  REQUIRE(status.sources_size() == 2);
  CHECK(status.sources(0).name() == "files");
  CHECK(status.sources(0).concurrency() == 64);
  CHECK(status.sources(0).in_flight() == 3);
  CHECK(status.sources(0).waiting() == 12);
  CHECK(status.sources(0).request_cost() == 100'000);
  CHECK(status.sources(1).name() == "web");
}

TEST_CASE("A job without a cap has a cap of zero in admin messages both ways",
          "[admin][job_list]") {
  job::JobSnapshot capped = ResnetJob();
  capped.max_read = 200e6;
  capped.max_cpus = 1.5;
  const proto::JobList list = ToProto({ResnetJob(), capped}, {});
  CHECK(list.jobs(0).max_read_bytes_per_second() == 0);
  CHECK(list.jobs(0).max_cpus() == 0);
  CHECK(list.jobs(1).max_read_bytes_per_second() == 200e6);
  CHECK(list.jobs(1).max_cpus() == 1.5);

  proto::SetJobRequest request;
  CHECK(FromProto(request).weight == std::nullopt);
  CHECK(FromProto(request).max_read == std::nullopt);
  CHECK(FromProto(request).max_cpus == std::nullopt);
  request.set_weight(3);
  request.set_max_read_bytes_per_second(0);
  request.set_max_cpus(2);
  CHECK(FromProto(request).weight == 3);
  CHECK(FromProto(request).max_read == std::numeric_limits<double>::infinity());
  CHECK(FromProto(request).max_cpus == 2);
}

TEST_CASE("The daemon's status counts jobs and loaders", "[admin][job_list]") {
  DaemonInfo info;
  info.version = "1.2.3";
  info.memory_limit = 8;
  info.user_workers = {
      .count = 2, .memory_used = 3, .memory_limit = 5, .ended = 7};
  info.local_reads = {true, 4, ""};
  info.bucket_credentials = "somebody\xFF";
  info.warnings = {"The index is kept in memory."};
  const proto::DaemonStatus status = ToProto(info, {ResnetJob(), ResnetJob()});
  CHECK(status.version() == "1.2.3");
  CHECK(status.pid() == getpid());
  CHECK(status.memory_limit() == 8);
  CHECK(status.producers().count() == 2);
  CHECK(status.producers().memory_used() == 3);
  CHECK(status.producers().memory_limit() == 5);
  CHECK(status.producers().ended() == 7);
  CHECK(status.jobs() == 2);
  CHECK(status.loaders() == 4);
  CHECK(status.local_reads().io_uring());
  CHECK(status.local_reads().threads() == 4);
  CHECK(status.bucket_credentials() == "somebody?");
  CHECK(status.warnings(0) == "The index is kept in memory.");
}

TEST_CASE("Pending requests are in both the job list and the daemon's status",
          "[admin][job_list]") {
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
    REQUIRE(pending.size() == 2);
    CHECK(pending[0].kind() == proto::PendingRequest::FETCHING);
    CHECK(pending[0].job() == "resnet");
    CHECK(pending[0].uri() == "http://host/?");
    CHECK(pending[0].host() == "http://host");
    CHECK(pending[0].seconds() == 4.5);
    CHECK(pending[1].kind() == proto::PendingRequest::OPENING);
    UNSCOPED_INFO("it came after the snapshot");
    CHECK(pending[1].seconds() == 0);
  }
}

TEST_CASE("The daemon's status has the GPUs", "[admin][job_list]") {
  DaemonInfo info;
  info.gpus = cuda::FakeDriver(3).inventory();
  info.gpus.devices[2].name = "\xFF";
  const proto::Gpus gpus = ToProto(info, {}).gpus();
  CHECK_THAT(gpus.absence(), Catch::Equals(""));
  CHECK(gpus.driver_version() == "1.2.3");
  CHECK(gpus.cuda_version() == "12.4");
  REQUIRE(gpus.devices_size() == 3);
  const proto::Gpu& last = gpus.devices(2);
  CHECK(last.ordinal() == 2);
  CHECK(last.uuid() == "00000000-0000-0000-0000-000000000002");
  CHECK(last.name() == "?");
  CHECK(last.memory_bytes() == std::uint64_t{16} << 30);
  CHECK(last.compute_major() == 8);
  CHECK(last.pci_address() == "0000:03:00.0");
  CHECK(last.numa_node() == 1);
  CHECK(last.notes_size() == 0);
  info.gpus = {};
  info.gpus.absence = "none";
  CHECK(ToProto(info, {}).gpus().absence() == "none");
}

}  // namespace
}  // namespace forebay::admin
