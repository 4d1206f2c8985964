#include "server/stream/sample_cost.h"

#include "tests/catch/catch.h"

namespace forebay::stream {
namespace {

constexpr int kMany = 200;

TEST_CASE("Cheap samples share a task", "[stream][sample_cost]") {
  SampleCost cost = SampleCost::OfProduced();
  CHECK(cost.task_samples() == 1);
  for (int i = 0; i < kMany; ++i) {
    cost.Measured(1'000'000);
    cost.Took(1'000'000);
  }
  CHECK(cost.task_samples() == 8);
  for (int i = 0; i < kMany; ++i) {
    cost.Measured(0);
    cost.Took(0);
  }
  CHECK(cost.task_samples() == 64);
}

TEST_CASE("Samples that sleep have a task each", "[stream][sample_cost]") {
  SampleCost cost = SampleCost::OfProduced();
  for (int i = 0; i < kMany; ++i) {
    cost.Measured(50'000);
    cost.Took(10'000'000);
  }
  CHECK(cost.task_samples() == 1);
  CHECK(cost.cpu_nanos() < 60'000);
}

TEST_CASE("A single sample tells that samples take long",
          "[stream][sample_cost]") {
  SampleCost cost = SampleCost::OfDecoded();
  CHECK_FALSE(cost.is_known());
  UNSCOPED_INFO("many could take very long");
  CHECK(cost.task_samples() == 1);
  cost.Measured(80'000'000);
  CHECK(cost.is_known());
  CHECK(cost.cpu_nanos() == 80'000'000);
}

TEST_CASE("A task of many samples is a short one", "[stream][sample_cost]") {
  SampleCost cost = SampleCost::OfDecoded();
  for (const std::int64_t nanos : {10'000, 300'000, 1'000'000, 4'000'000}) {
    for (int i = 0; i < kMany; ++i) cost.Measured(nanos);
    CHECK(cost.task_samples() * nanos <= 4'500'000);
  }
}

}  // namespace
}  // namespace forebay::stream
