#include "tools/forebayctl/rates.h"

#include <gtest/gtest.h>

namespace forebay::ctl {
namespace {

proto::JobList List(std::int64_t nanos, std::uint64_t samples,
                    std::uint64_t wait_nanos) {
  proto::JobList list;
  list.set_taken_at_nanos(nanos);
  proto::Job* job = list.add_jobs();
  job->set_key("k");
  job->set_name("resnet");
  proto::Loader* loader = job->add_loaders();
  loader->set_name("train");
  loader->set_running(true);
  loader->mutable_counters()->set_samples_delivered(samples);
  loader->mutable_counters()->set_samples_decoded(samples / 4);
  loader->mutable_counters()->set_bytes_read(samples * 10);
  loader->mutable_counters()->set_bytes_delivered(samples * 100);
  loader->mutable_counters()->set_cpu_nanos(samples * 1'000'000);
  loader->mutable_counters()->set_trainer_wait_nanos(wait_nanos);
  loader->mutable_queues()->set_slots(4);
  loader->mutable_queues()->set_slots_ready(3);
  return list;
}

TEST(RatesTest, AreDifferencesOverTime) {
  const auto rates = RatesBetween(List(1'000'000'000, 100, 0),
                                  List(3'000'000'000, 1100, 500'000'000));
  ASSERT_EQ(rates.size(), 1);
  EXPECT_EQ(rates[0].name, "resnet");
  EXPECT_DOUBLE_EQ(rates[0].images_per_second, 500);
  EXPECT_DOUBLE_EQ(rates[0].decodes_per_second, 125);
  EXPECT_DOUBLE_EQ(rates[0].bytes_read_per_second, 5000);
  EXPECT_DOUBLE_EQ(rates[0].bytes_delivered_per_second, 50000);
  EXPECT_DOUBLE_EQ(rates[0].cpu_cores, 0.5);
  EXPECT_DOUBLE_EQ(rates[0].trainer_wait, 0.25);
  EXPECT_EQ(rates[0].slots, 4);
  EXPECT_EQ(rates[0].slots_ready, 3);
  EXPECT_TRUE(rates[0].running);
}

TEST(RatesTest, LoadersAddUp) {
  proto::JobList before = List(0, 0, 0);
  proto::JobList after = List(1'000'000'000, 50, 700'000'000);
  for (proto::JobList* list : {&before, &after}) {
    proto::Job* job = list->mutable_jobs(0);
    *job->add_loaders() = job->loaders(0);
  }
  const auto rates = RatesBetween(before, after);
  EXPECT_DOUBLE_EQ(rates[0].images_per_second, 100);
  EXPECT_EQ(rates[0].slots, 8);
  EXPECT_DOUBLE_EQ(rates[0].trainer_wait, 1);  // not 1.4
}

TEST(RatesTest, BytesToGpusAreThoseOfLoadersThere) {
  proto::JobList before = List(0, 0, 0);
  proto::JobList after = List(1'000'000'000, 50, 0);
  EXPECT_FALSE(RatesBetween(before, after)[0].on_gpu);
  for (proto::JobList* list : {&before, &after}) {
    proto::Job* job = list->mutable_jobs(0);
    *job->add_loaders() = job->loaders(0);
    job->mutable_loaders(1)->set_gpu(0);
  }
  const auto rates = RatesBetween(before, after);
  EXPECT_TRUE(rates[0].on_gpu);
  EXPECT_DOUBLE_EQ(rates[0].bytes_delivered_per_second, 10000);
  EXPECT_DOUBLE_EQ(rates[0].gpu_bytes_per_second, 5000);
}

TEST(RatesTest, NoTimeMeansNoRate) {
  const auto rates = RatesBetween(List(5, 0, 0), List(5, 100, 0));
  EXPECT_EQ(rates[0].images_per_second, 0);
  EXPECT_EQ(rates[0].slots, 4);
}

TEST(RatesTest, AJobOpenedAnewCountsFromZero) {
  const auto rates = RatesBetween(List(0, 1'000'000, 9'000'000'000),
                                  List(1'000'000'000, 30, 0));
  EXPECT_DOUBLE_EQ(rates[0].images_per_second, 30);
  EXPECT_DOUBLE_EQ(rates[0].trainer_wait, 0);
  EXPECT_DOUBLE_EQ(
      RatesBetween({}, List(1'000'000'000, 30, 0))[0].images_per_second, 30);
}

TEST(RatesTest, AWaitThatLastsAllTheTimeIsSeen) {
  proto::JobList before = List(1, 10, 0);
  proto::JobList after = List(1'000'000'001, 10, 0);
  for (proto::JobList* list : {&before, &after}) {
    list->mutable_jobs(0)
        ->mutable_loaders(0)
        ->mutable_counters()
        ->set_trainer_waiting(true);
  }
  EXPECT_DOUBLE_EQ(RatesBetween(before, after)[0].trainer_wait, 1);
}

TEST(RatesTest, TellOfTheLoaderThatIsFurthestBehind) {
  proto::JobList list = List(1, 10, 0);
  proto::Job* const job = list.mutable_jobs(0);
  EXPECT_EQ(RatesBetween(list, list)[0].sharing, "alone");
  for (const std::uint64_t behind : {5, 20, 10}) {
    proto::Loader* const loader = job->add_loaders();
    loader->set_running(true);
    loader->mutable_sharing()->set_behind(behind);
    loader->mutable_sharing()->set_standing(proto::LoaderSharing::APART);
  }
  proto::Loader* const idle = job->add_loaders();
  idle->mutable_sharing()->set_behind(99);
  EXPECT_EQ(RatesBetween(list, list)[0].sharing, "20 behind, apart");
  for (proto::Loader& loader : *job->mutable_loaders())
    loader.set_running(false);
  EXPECT_EQ(RatesBetween(list, list)[0].sharing, "-");
}

TEST(RatesTest, TellWhereBytesCameFrom) {
  proto::JobList before = List(1'000'000'000, 0, 0);
  proto::JobList after = List(3'000'000'000, 10, 0);
  const auto set = [](proto::JobList* list, std::uint64_t bytes) {
    proto::ReadTraffic* traffic = list->mutable_jobs(0)->mutable_traffic();
    traffic->mutable_memory()->set_bytes(bytes);
    traffic->mutable_shared()->set_bytes(2 * bytes);
    traffic->mutable_source()->set_bytes(3 * bytes);
    traffic->mutable_disk()->set_bytes(4 * bytes);
    list->mutable_jobs(0)->mutable_remote_requests()->set_bytes(5 * bytes);
  };
  set(&before, 1000);
  set(&after, 5000);
  const auto rates = RatesBetween(before, after);
  EXPECT_DOUBLE_EQ(rates[0].memory_bytes_per_second, 2000);
  EXPECT_DOUBLE_EQ(rates[0].shared_bytes_per_second, 4000);
  EXPECT_DOUBLE_EQ(rates[0].source_bytes_per_second, 6000);
  EXPECT_DOUBLE_EQ(rates[0].disk_bytes_per_second, 8000);
  EXPECT_DOUBLE_EQ(rates[0].network_bytes_per_second, 10000);
  // The job began anew.
  set(&before, 1'000'000);
  const JobRates anew = RatesBetween(before, after)[0];
  EXPECT_DOUBLE_EQ(anew.memory_bytes_per_second, 2500);
  EXPECT_DOUBLE_EQ(anew.network_bytes_per_second, 12500);
}

}  // namespace
}  // namespace forebay::ctl
