#include "tools/forebayctl/rates.h"

#include "tests/catch/catch.h"

namespace forebay::ctl {
namespace {

using Catch::WithinULP;

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

TEST_CASE("Rates are differences of counters over time",
          "[forebayctl][rates]") {
  const auto rates = RatesBetween(List(1'000'000'000, 100, 0),
                                  List(3'000'000'000, 1100, 500'000'000));
  REQUIRE(rates.size() == 1);
  CHECK(rates[0].name == "resnet");
  CHECK_THAT(rates[0].images_per_second, WithinULP(500.0, 4));
  CHECK_THAT(rates[0].decodes_per_second, WithinULP(125.0, 4));
  CHECK_THAT(rates[0].bytes_read_per_second, WithinULP(5000.0, 4));
  CHECK_THAT(rates[0].bytes_delivered_per_second, WithinULP(50000.0, 4));
  CHECK_THAT(rates[0].cpu_cores, WithinULP(0.5, 4));
  CHECK_THAT(rates[0].trainer_wait, WithinULP(0.25, 4));
  CHECK(rates[0].slots == 4);
  CHECK(rates[0].slots_ready == 3);
  CHECK(rates[0].running);
}

TEST_CASE("The rates of a job's loaders add up", "[forebayctl][rates]") {
  proto::JobList before = List(0, 0, 0);
  proto::JobList after = List(1'000'000'000, 50, 700'000'000);
  for (proto::JobList* list : {&before, &after}) {
    proto::Job* job = list->mutable_jobs(0);
    *job->add_loaders() = job->loaders(0);
  }
  const auto rates = RatesBetween(before, after);
  CHECK_THAT(rates[0].images_per_second, WithinULP(100.0, 4));
  CHECK(rates[0].slots == 8);
  CHECK_THAT(rates[0].trainer_wait, WithinULP(1.0, 4));  // at most 1, not 1.4
}

TEST_CASE("Rates of bytes to GPUs are those of loaders there",
          "[forebayctl][rates]") {
  proto::JobList before = List(0, 0, 0);
  proto::JobList after = List(1'000'000'000, 50, 0);
  CHECK_FALSE(RatesBetween(before, after)[0].on_gpu);
  for (proto::JobList* list : {&before, &after}) {
    proto::Job* job = list->mutable_jobs(0);
    *job->add_loaders() = job->loaders(0);
    job->mutable_loaders(1)->set_gpu(0);
  }
  const auto rates = RatesBetween(before, after);
  CHECK(rates[0].on_gpu);
  CHECK_THAT(rates[0].bytes_delivered_per_second, WithinULP(10000.0, 4));
  CHECK_THAT(rates[0].gpu_bytes_per_second, WithinULP(5000.0, 4));
}

TEST_CASE("No time between two lists of jobs means no rate",
          "[forebayctl][rates]") {
  const auto rates = RatesBetween(List(5, 0, 0), List(5, 100, 0));
  CHECK(rates[0].images_per_second == 0);
  CHECK(rates[0].slots == 4);
}

TEST_CASE("The rates of a job opened anew count from zero",
          "[forebayctl][rates]") {
  const auto rates = RatesBetween(List(0, 1'000'000, 9'000'000'000),
                                  List(1'000'000'000, 30, 0));
  CHECK_THAT(rates[0].images_per_second, WithinULP(30.0, 4));
  CHECK_THAT(rates[0].trainer_wait, WithinULP(0.0, 4));
  CHECK_THAT(RatesBetween({}, List(1'000'000'000, 30, 0))[0].images_per_second,
             WithinULP(30.0, 4));
}

TEST_CASE("Rates show a wait that lasts all the time", "[forebayctl][rates]") {
  proto::JobList before = List(1, 10, 0);
  proto::JobList after = List(1'000'000'001, 10, 0);
  for (proto::JobList* list : {&before, &after}) {
    list->mutable_jobs(0)
        ->mutable_loaders(0)
        ->mutable_counters()
        ->set_trainer_waiting(true);
  }
  CHECK_THAT(RatesBetween(before, after)[0].trainer_wait, WithinULP(1.0, 4));
}

TEST_CASE("Rates tell of the loader that is furthest behind",
          "[forebayctl][rates]") {
  proto::JobList list = List(1, 10, 0);
  proto::Job* const job = list.mutable_jobs(0);
  CHECK(RatesBetween(list, list)[0].sharing == "alone");
  for (const std::uint64_t behind : {5, 20, 10}) {
    proto::Loader* const loader = job->add_loaders();
    loader->set_running(true);
    loader->mutable_sharing()->set_behind(behind);
    loader->mutable_sharing()->set_standing(proto::LoaderSharing::APART);
  }
  proto::Loader* const idle = job->add_loaders();
  idle->mutable_sharing()->set_behind(99);
  CHECK(RatesBetween(list, list)[0].sharing == "20 behind, apart");
  for (proto::Loader& loader : *job->mutable_loaders())
    loader.set_running(false);
  CHECK(RatesBetween(list, list)[0].sharing == "-");
}

TEST_CASE("Rates tell where bytes came from", "[forebayctl][rates]") {
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
  CHECK_THAT(rates[0].memory_bytes_per_second, WithinULP(2000.0, 4));
  CHECK_THAT(rates[0].shared_bytes_per_second, WithinULP(4000.0, 4));
  CHECK_THAT(rates[0].source_bytes_per_second, WithinULP(6000.0, 4));
  CHECK_THAT(rates[0].disk_bytes_per_second, WithinULP(8000.0, 4));
  CHECK_THAT(rates[0].network_bytes_per_second, WithinULP(10000.0, 4));
  // The job was restarted, so its counters are lower.
  set(&before, 1'000'000);
  const JobRates anew = RatesBetween(before, after)[0];
  CHECK_THAT(anew.memory_bytes_per_second, WithinULP(2500.0, 4));
  CHECK_THAT(anew.network_bytes_per_second, WithinULP(12500.0, 4));
}

}  // namespace
}  // namespace forebay::ctl
