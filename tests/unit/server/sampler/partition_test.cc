#include "server/sampler/partition.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::sampler {
namespace {

struct GoldenCase {
  std::uint64_t size;
  std::uint32_t world_size;
  std::uint32_t rank;
  bool drop_last;
  std::vector<std::uint64_t> indices;
};

const GoldenCase kGolden[] = {
#include "tests/unit/server/sampler/distributed_sampler_golden.inc"
};

std::vector<std::uint64_t> Places(const Partition& partition) {
  std::vector<std::uint64_t> places;
  for (std::uint64_t i = 0; i < partition.count(); ++i) {
    places.push_back(partition.PlaceAt(i));
  }
  return places;
}

TEST_CASE("A partition visits the same places as torch's DistributedSampler",
          "[sampler][partition]") {
  for (const GoldenCase& golden : kGolden) {
    INFO("size " << golden.size << " world " << golden.world_size << " rank "
                 << golden.rank << " drop " << golden.drop_last);
    CHECK(Places(Partition(golden.size, golden.rank, golden.world_size,
                           golden.drop_last ? Pad::kDrop : Pad::kWrap)) ==
          golden.indices);
  }
}

TEST_CASE("Partitions without padding visit each place exactly once",
          "[sampler][partition]") {
  for (std::uint64_t size = 1; size <= 40; ++size) {
    for (std::uint32_t world = 1; world <= 50; ++world) {
      std::vector<int> seen(size);
      std::uint64_t least = size;
      std::uint64_t most = 0;
      for (std::uint32_t rank = 0; rank < world; ++rank) {
        const Partition partition(size, rank, world, Pad::kNone);
        for (const std::uint64_t place : Places(partition)) ++seen.at(place);
        least = std::min(least, partition.count());
        most = std::max(most, partition.count());
      }
      CHECK(seen == std::vector<int>(size, 1));
      CHECK(most - least <= 1);
    }
  }
}

TEST_CASE("A partition gives the first position of a place",
          "[sampler][partition]") {
  for (const Pad pad : {Pad::kWrap, Pad::kDrop, Pad::kNone}) {
    for (std::uint64_t size = 1; size <= 20; ++size) {
      for (std::uint32_t world = 1; world <= 45; ++world) {
        for (std::uint32_t rank = 0; rank < world; ++rank) {
          const Partition partition(size, rank, world, pad);
          std::vector<std::optional<std::uint64_t>> first(size);
          for (std::uint64_t i = partition.count(); i-- > 0;) {
            first[partition.PlaceAt(i)] = i;
          }
          for (std::uint64_t place = 0; place < size; ++place) {
            CHECK(partition.PositionOf(place) == first[place]);
          }
        }
      }
    }
  }
}

TEST_CASE("The largest sizes of a partition do not overflow",
          "[sampler][partition]") {
  const std::uint64_t size = std::uint64_t{1} << 62;
  const std::uint32_t world = (1 << 20) - 1;
  const Partition partition(size - 1, world - 1, world, Pad::kWrap);
  const std::uint64_t last = partition.count() - 1;
  const std::uint64_t place = partition.PlaceAt(last);
  CHECK(place == (world - 1 + last * world) % (size - 1));
  CHECK(partition.PlaceAt(last - 1) + world == world - 1 + last * world);
  CHECK(partition.PositionOf(partition.PlaceAt(last - 1)).has_value());
}

}  // namespace
}  // namespace forebay::sampler
