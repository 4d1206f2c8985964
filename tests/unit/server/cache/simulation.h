#ifndef FOREBAY_TESTS_UNIT_SERVER_CACHE_SIMULATION_H_
#define FOREBAY_TESTS_UNIT_SERVER_CACHE_SIMULATION_H_

#include <cstdint>
#include <vector>

namespace forebay::cache {

// Loaders that read the same samples, each in its own order, for several
// epochs. Time is simulated.
struct Plan {
  struct Loader {
    std::uint64_t seed = 0;
    std::int64_t period_nanos = 1'000'000;  // for each sample
    std::int64_t start_nanos = 0;
  };
  std::uint64_t samples = 20'000;
  std::vector<Loader> loaders;
  std::uint64_t batch_size = 64;
  double fraction = 0.25;  // part of the samples that fits into the cache
  // Number of epochs in which hits are counted, in epochs of the slowest
  // loader. They begin after that loader's first epoch.
  std::uint64_t epochs = 3;
};

// Hits / reads of three algorithms on one trace.
struct HitRatios {
  double ours = 0;         // the real cache, which knows the loaders' next use
  double clairvoyant = 0;  // Belady's algorithm, with bypass
  double lru = 0;
  // Bytes that the real cache read from the source.
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes = 0;  // bytes of all samples
};

HitRatios Simulate(const Plan& plan);

}  // namespace forebay::cache

#endif  // FOREBAY_TESTS_UNIT_SERVER_CACHE_SIMULATION_H_
