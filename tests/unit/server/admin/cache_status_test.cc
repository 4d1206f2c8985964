#include "server/admin/cache_status.h"

#include <gtest/gtest.h>

#include "tests/unit/server/admin/fake_introspection.h"

namespace forebay::admin {
namespace {

TEST(CacheStatusTest, CarriesEverything) {
  job::JobSnapshot idle;
  idle.id = 8;
  idle.name = "idle\xff";  // not UTF-8
  const proto::CacheStatus status = ToProto(ResnetCache(), {idle, ResnetJob()});
  EXPECT_EQ(status.capacity(), std::uint64_t{1} << 30);
  EXPECT_EQ(status.used(), std::uint64_t{1} << 28);
  EXPECT_EQ(status.entries(), 4000);
  EXPECT_EQ(status.entry_bytes(), 250'000'000);
  EXPECT_EQ(status.decoded().entries(), 300);
  EXPECT_EQ(status.decoded().entry_bytes(), 100'000'000);
  EXPECT_EQ(status.decoded().made(), 800);
  EXPECT_EQ(status.decoded().hits(), 500);
  EXPECT_EQ(status.decoded().saved_nanos(), 2'500'000'000);
  EXPECT_EQ(status.reads_in_flight(), 3);
  EXPECT_EQ(status.total().memory().reads(), 9000);
  EXPECT_EQ(status.total().shared().bytes(), 50'000'000);
  EXPECT_EQ(status.total().disk().reads(), 3000);
  EXPECT_EQ(status.bytes_saved(), 650'000'000);
  EXPECT_EQ(status.evicted().reads(), 100);
  EXPECT_EQ(status.bypassed().bytes(), 10'000'000);
  EXPECT_EQ(status.failures(), 2);
  // The job that ended is in the total alone.
  ASSERT_EQ(status.jobs_size(), 2);
  EXPECT_EQ(status.jobs(0).name(), "idle?");
  EXPECT_EQ(status.jobs(0).traffic().source().reads(), 0);
  const proto::JobTraffic& resnet = status.jobs(1);
  EXPECT_EQ(resnet.key(), "slurm-17");
  EXPECT_EQ(resnet.uid(), 1000);
  EXPECT_EQ(resnet.traffic().memory().reads(), 6000);
  EXPECT_EQ(resnet.traffic().disk().bytes(), 75'000'000);
  EXPECT_EQ(resnet.traffic().source().bytes(), 25'000'000);
  EXPECT_EQ(resnet.bytes_saved(), 425'000'000);
}

TEST(CacheStatusTest, CarriesEverythingOfTheTierOnDisk) {
  const proto::DiskTierStatus status = ToProto(*ResnetDiskTier());
  EXPECT_TRUE(status.off());
  EXPECT_EQ(status.capacity(), std::uint64_t{1} << 40);
  EXPECT_EQ(status.used(), std::uint64_t{1} << 39);
  EXPECT_EQ(status.entries(), 5'000'000);
  EXPECT_EQ(status.entry_bytes(), 500'000'000'000);
  EXPECT_EQ(status.waiting(), 1 << 20);
  EXPECT_EQ(status.hits().reads(), 3000);
  EXPECT_EQ(status.misses().bytes(), 50'000'000);
  EXPECT_EQ(status.written().reads(), 2000);
  EXPECT_EQ(status.evicted().bytes(), 500'000);
  EXPECT_EQ(status.carried().reads(), 4);
  EXPECT_EQ(status.refused().reads(), 20);
  EXPECT_EQ(status.damaged(), 3);
  EXPECT_EQ(status.failures(), 4);
}

}  // namespace
}  // namespace forebay::admin
