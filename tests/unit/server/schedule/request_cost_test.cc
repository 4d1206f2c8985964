#include "server/schedule/request_cost.h"

#include <cstdint>
#include <random>

#include "tests/catch/catch.h"

namespace forebay::schedule {
namespace {

using Catch::WithinAbs;

// A resource that takes these nanoseconds for each request and for each byte.
struct Disk {
  double per_request;
  double per_byte;

  void Serve(std::int64_t requests, std::int64_t size, double noise,
             RequestCost* cost) const {
    const double nanos = static_cast<double>(requests) *
                         (per_request + per_byte * static_cast<double>(size)) *
                         noise;
    cost->Observe(requests, requests * size, static_cast<std::int64_t>(nanos));
  }
};

TEST_CASE("The request cost finds the constant of its source",
          "[schedule][request_cost]") {
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> noise(0.95, 1.05);
  for (const double constant : {20e3, 100e3, 1e6}) {
    const Disk disk = {.per_request = constant * 0.7, .per_byte = 0.7};
    RequestCost cost;
    for (int i = 0; i < 500; ++i)
      disk.Serve(100, 4096 + random() % 400'000, noise(random), &cost);
    CHECK_THAT(static_cast<double>(cost.bytes()),
               WithinAbs(constant, 0.15 * constant));
  }
}

TEST_CASE("The request cost follows a change of its source",
          "[schedule][request_cost]") {
  RequestCost cost;
  const Disk before = {.per_request = 10e3, .per_byte = 1};
  const Disk after = {.per_request = 300e3, .per_byte = 1};
  for (int i = 0; i < 300; ++i)
    before.Serve(100, 10'000 + i % 9 * 5000, 1, &cost);
  CHECK_THAT(static_cast<double>(cost.bytes()), WithinAbs(10e3, 100));
  for (int i = 0; i < 600; ++i)
    after.Serve(100, 10'000 + i % 9 * 5000, 1, &cost);
  CHECK_THAT(static_cast<double>(cost.bytes()), WithinAbs(300e3, 3e3));
}

TEST_CASE("The request cost keeps its value where all requests are alike",
          "[schedule][request_cost]") {
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> noise(0.7, 1.3);
  RequestCost cost(77'000);
  const Disk disk = {.per_request = 1e6, .per_byte = 1};
  for (int i = 0; i < 500; ++i)
    disk.Serve(100, 50'000 + random() % 500, noise(random), &cost);
  CHECK(cost.bytes() == 77'000);
}

TEST_CASE("The request cost stays within its bounds",
          "[schedule][request_cost]") {
  RequestCost cost;
  for (int i = 0; i < 50; ++i)
    Disk{.per_request = 0, .per_byte = 1}.Serve(64, 1000 << i % 8, 1, &cost);
  CHECK(cost.bytes() == RequestCost::kMin);
  RequestCost other;
  for (int i = 0; i < 50; ++i)
    Disk{.per_request = 1e9, .per_byte = 0}.Serve(64, 1000 << i % 8, 1, &other);
  CHECK(other.bytes() == RequestCost::kMax);
}

TEST_CASE("The request cost learns nothing from an empty observation",
          "[schedule][request_cost]") {
  RequestCost cost(50'000);
  cost.Observe(0, 0, 0);
  cost.Observe(10, 0, 1000);
  cost.Observe(10, 1000, 0);
  cost.Observe(-1, -1, -1);
  CHECK(cost.bytes() == 50'000);
}

}  // namespace
}  // namespace forebay::schedule
