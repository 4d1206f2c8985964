// The cache's hit ratios over loaders with different seeds, compared with
// Belady's algorithm and LRU. Prints a JSON list with one object for each case.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/unit/server/cache/simulation.h"

namespace {

using forebay::cache::HitRatios;
using forebay::cache::Plan;

struct Case {
  std::string name;
  Plan plan;
};

Plan Loaders(const std::vector<std::int64_t>& periods_nanos, double fraction) {
  Plan plan;
  plan.fraction = fraction;
  for (const std::int64_t period : periods_nanos) {
    plan.loaders.push_back({.seed = 100 + plan.loaders.size(),
                            .period_nanos = period,
                            .start_nanos = 0});
  }
  return plan;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const std::size_t count : {1, 2, 4}) {
    for (const int percent : {10, 25, 50}) {
      cases.push_back(
          {std::to_string(count) + " loaders, " + std::to_string(percent) + "%",
           Loaders(std::vector<std::int64_t>(count, 1'000'000),
                   percent / 100.0)});
    }
  }
  cases.push_back({"2 loaders, one 3 times as fast, 25%",
                   Loaders({600'000, 1'800'000}, 0.25)});
  Case staggered = {"4 loaders of 4 speeds, one after the other, 25%",
                    Loaders({500'000, 700'000, 1'100'000, 1'900'000}, 0.25)};
  std::int64_t start_nanos = 0;
  for (Plan::Loader& loader : staggered.plan.loaders) {
    loader.start_nanos = start_nanos;
    start_nanos += 3'300'000'000;
  }
  cases.push_back(staggered);
  // Only the misses of the faster loader are read from the source.
  cases.push_back({"2 loaders, 100%", Loaders({1'000'000, 1'000'000}, 1)});
  return cases;
}

}  // namespace

int main() {
  const char* separator = "[";
  for (const Case& c : Cases()) {
    const HitRatios found = forebay::cache::Simulate(c.plan);
    std::printf(
        "%s{\"case\": \"%s\", \"ours\": %.5f, \"clairvoyant\": %.5f, "
        "\"lru\": %.5f, \"bytes_read\": %llu, \"bytes\": %llu}\n",
        separator, c.name.c_str(), found.ours, found.clairvoyant, found.lru,
        static_cast<unsigned long long>(found.bytes_read),
        static_cast<unsigned long long>(found.bytes));
    std::fflush(stdout);
    separator = ",";
  }
  std::printf("]\n");
  return 0;
}
