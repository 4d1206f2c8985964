// Reads random objects through a tier, forever. Writes a byte to standard
// output for each read. Runs until its parent process kills it.
//
// Usage: writer DIRECTORY SEED

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <utility>

#include "server/base/clock.h"
#include "server/base/memory_budget.h"
#include "server/base/philox.h"
#include "server/cache/disk/disk_cache.h"
#include "server/cache/disk/volume.h"
#include "tests/crash/disk_cache/generated_source.h"

namespace forebay::cache::disk {
namespace {

int Main(const std::string& path, std::uint64_t seed) {
  auto directory = CacheDirectory::Lock(path);
  if (!directory.ok()) {
    std::fprintf(stderr, "%s\n", directory.status().ToString().c_str());
    return 1;
  }
  GeneratedSource below;
  const NoNextUse next_use;
  base::MemoryBudget budget(std::uint64_t{1} << 30);
  auto cache = DiskCache::Create({.store = {.capacity = kKilledCapacity,
                                            .segment_bytes = kKilledSegment,
                                            .seed = seed},
                                  .read_threads = 2},
                                 *std::move(directory),
                                 {.below = &below,
                                  .budget = &budget,
                                  .next_use = &next_use,
                                  .clock = base::Clock::Monotonic()});
  if (!cache.ok()) {
    std::fprintf(stderr, "%s\n", cache.status().ToString().c_str());
    return 1;
  }
  base::PhiloxStream random(seed, /*epoch=*/0, /*sample=*/0, /*op=*/0);
  for (;;) {
    const std::uint64_t object = random.NextUint32() % kGeneratedObjects;
    const std::int64_t stamp = random.NextUint32() % kGeneratedStamps;
    std::promise<void> read;
    auto request = GeneratedRequest(object, stamp);
    request.done = [&](const absl::StatusOr<storage::ReadResult>&) {
      read.set_value();
    };
    (*cache)->Read({&request, 1});
    read.get_future().wait();
    if (write(STDOUT_FILENO, ".", 1) != 1) return 1;
  }
}

}  // namespace
}  // namespace forebay::cache::disk

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return forebay::cache::disk::Main(argv[1],
                                    std::strtoull(argv[2], nullptr, 10));
}
