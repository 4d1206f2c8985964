#include "server/admin/cache_status.h"

#include "tests/catch/catch.h"
#include "tests/unit/server/admin/fake_introspection.h"

namespace forebay::admin {
namespace {

TEST_CASE("The cache status carries everything of the cache and its jobs",
          "[admin][cache_status]") {
  job::JobSnapshot idle;
  idle.id = 8;
  idle.name = "idle\xff";  // not UTF-8
  const proto::CacheStatus status = ToProto(ResnetCache(), {idle, ResnetJob()});
  CHECK(status.capacity() == std::uint64_t{1} << 30);
  CHECK(status.used() == std::uint64_t{1} << 28);
  CHECK(status.entries() == 4000);
  CHECK(status.entry_bytes() == 250'000'000);
  CHECK(status.decoded().entries() == 300);
  CHECK(status.decoded().entry_bytes() == 100'000'000);
  CHECK(status.decoded().made() == 800);
  CHECK(status.decoded().hits() == 500);
  CHECK(status.decoded().saved_nanos() == 2'500'000'000);
  CHECK(status.reads_in_flight() == 3);
  CHECK(status.total().memory().reads() == 9000);
  CHECK(status.total().shared().bytes() == 50'000'000);
  CHECK(status.total().disk().reads() == 3000);
  CHECK(status.bytes_saved() == 650'000'000);
  CHECK(status.evicted().reads() == 100);
  CHECK(status.bypassed().bytes() == 10'000'000);
  CHECK(status.failures() == 2);
  // A job that has ended counts only towards the total.
  REQUIRE(status.jobs_size() == 2);
  CHECK(status.jobs(0).name() == "idle?");
  CHECK(status.jobs(0).traffic().source().reads() == 0);
  const proto::JobTraffic& resnet = status.jobs(1);
  CHECK(resnet.key() == "slurm-17");
  CHECK(resnet.uid() == 1000);
  CHECK(resnet.traffic().memory().reads() == 6000);
  CHECK(resnet.traffic().disk().bytes() == 75'000'000);
  CHECK(resnet.traffic().source().bytes() == 25'000'000);
  CHECK(resnet.bytes_saved() == 425'000'000);
}

TEST_CASE("The cache status carries everything of the tier on disk",
          "[admin][cache_status]") {
  const proto::DiskTierStatus status = ToProto(*ResnetDiskTier());
  CHECK(status.off());
  CHECK(status.capacity() == std::uint64_t{1} << 40);
  CHECK(status.used() == std::uint64_t{1} << 39);
  CHECK(status.entries() == 5'000'000);
  CHECK(status.entry_bytes() == 500'000'000'000);
  CHECK(status.waiting() == 1 << 20);
  CHECK(status.hits().reads() == 3000);
  CHECK(status.misses().bytes() == 50'000'000);
  CHECK(status.written().reads() == 2000);
  CHECK(status.evicted().bytes() == 500'000);
  CHECK(status.carried().reads() == 4);
  CHECK(status.refused().reads() == 20);
  CHECK(status.damaged() == 3);
  CHECK(status.failures() == 4);
}

}  // namespace
}  // namespace forebay::admin
