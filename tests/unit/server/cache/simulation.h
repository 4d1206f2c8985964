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
  double fraction = 0.25;  // of the samples that fit into the cache
  // Epochs of the slowest loader, after its first, for which hits are counted.
  std::uint64_t epochs = 3;
};

// Hits over reads, by three algorithms on one trace.
struct HitRatios {
  double ours = 0;         // the cache, with the loaders' next use
  double clairvoyant = 0;  // Belady's algorithm, with bypass
  double lru = 0;
  std::uint64_t bytes_read = 0;  // of `ours`, from the source
  std::uint64_t bytes = 0;       // bytes of all samples
};

HitRatios Simulate(const Plan& plan);

}  // namespace forebay::cache

#endif  // FOREBAY_TESTS_UNIT_SERVER_CACHE_SIMULATION_H_
