#include "server/storage/local/working_set_estimate.h"

#include <random>

#include "tests/catch/catch.h"

namespace forebay::storage::local {
namespace {

using Catch::WithinAbs;

TEST_CASE("The working set estimate counts different reads once each",
          "[local][working_set_estimate]") {
  WorkingSetEstimate working_set;
  CHECK(working_set.bytes() == 0);
  for (int epoch = 0; epoch < 3; ++epoch)
    for (std::uint64_t read = 1; read <= 2000; ++read)
      working_set.Add(read * 0x9e3779b97f4a7c15, 1000);
  CHECK_THAT(working_set.bytes(), WithinAbs(2e6, 1));
}

TEST_CASE("The working set estimate is close for a large set",
          "[local][working_set_estimate]") {
  WorkingSetEstimate working_set;
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::mt19937_64 random(1);
    double bytes = 0;
    for (int read = 0; read < 300'000; ++read) {
      const std::uint64_t hash = random();
      working_set.Add(hash, 50'000 + hash % 100'000);
      bytes += static_cast<double>(50'000 + hash % 100'000);
    }
    CHECK_THAT(working_set.bytes() / bytes, WithinAbs(1, 0.08));
  }
}

}  // namespace
}  // namespace forebay::storage::local
