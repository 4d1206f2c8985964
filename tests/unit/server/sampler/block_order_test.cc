#include "server/sampler/block_order.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::sampler {
namespace {

using Catch::WithinAbs;

constexpr std::uint64_t kSeed = 20261121;
constexpr std::uint64_t kGroup = BlockOrder::kGroup;

std::mt19937_64 PrintedGenerator() {
  std::cout << "seed " << kSeed << "\n";
  return std::mt19937_64(kSeed);
}

TEST_CASE("A block order of any size is an invertible permutation",
          "[sampler][block_order]") {
  std::mt19937_64 random = PrintedGenerator();
  for (int repeat = 0; repeat < 1500; ++repeat) {
    const std::uint64_t size = 1 + random() % 700;
    const std::uint64_t block =
        repeat % 3 == 0 ? 1 + random() % 3 : 1 + random() % (size + 5);
    const BlockOrder order(size, block, random(), random());
    std::vector<bool> seen(size);
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t id = order.At(i);
      UNSCOPED_INFO(size << " " << block);
      REQUIRE(id < size);
      UNSCOPED_INFO(size << " " << block);
      REQUIRE_FALSE(seen[id]);
      seen[id] = true;
      UNSCOPED_INFO(size << " " << block);
      REQUIRE(order.PositionOf(id) == i);
    }
  }
}

TEST_CASE("A block order of a huge size is invertible",
          "[sampler][block_order]") {
  std::mt19937_64 random = PrintedGenerator();
  for (int repeat = 0; repeat < 2000; ++repeat) {
    const std::uint64_t size = kMaxSize - random() % 1000;
    const std::uint64_t block = 1 + (random() >> (2 + random() % 60));
    const BlockOrder order(size, block, random(), random());
    const std::uint64_t position = random() % size;
    const std::uint64_t id = order.At(position);
    REQUIRE(id < size);
    REQUIRE(order.PositionOf(id) == position);
  }
}

// The purpose of the order is that few blocks are partly read at any time.
TEST_CASE("A block order reads one group of blocks at a time",
          "[sampler][block_order]") {
  constexpr std::uint64_t kSize = 100'003;
  constexpr std::uint64_t kBlock = 50;
  const BlockOrder order(kSize, kBlock, kSeed, 3);
  const std::uint64_t blocks = kSize / kBlock + 1;
  std::uint64_t begin = 0;
  std::set<std::uint64_t> done;
  while (begin < kSize) {
    std::set<std::uint64_t> group;
    std::uint64_t length = 0;
    while (begin + length < kSize) {
      const std::uint64_t block = order.At(begin + length) / kBlock;
      if (group.size() == kGroup && !group.contains(block)) break;
      REQUIRE_FALSE(done.contains(block));
      group.insert(block);
      ++length;
    }
    CHECK(length <= kGroup * kBlock);
    done.insert(group.begin(), group.end());
    begin += length;
  }
  CHECK(done.size() == blocks);
}

// For a reader that goes through the order, each block is due once, one group
// ahead. Blocks of the first group are never due.
TEST_CASE("Each block of a block order is due once and a group ahead",
          "[sampler][block_order]") {
  std::mt19937_64 random = PrintedGenerator();
  for (int repeat = 0; repeat < 60; ++repeat) {
    const std::uint64_t size = 1 + random() % 20'000;
    const std::uint64_t block = 1 + random() % 60;
    const BlockOrder order(size, block, random(), random());
    std::set<std::uint64_t> known;
    const auto meet = [&](const Block& met) {
      REQUIRE(met.begin % block == 0);
      REQUIRE(met.end == std::min(met.begin + block, size));
      REQUIRE(known.insert(met.begin).second);
    };
    const std::uint64_t blocks = (size + block - 1) / block;
    // The first group's blocks are never due. The short block may be among
    // them.
    for (std::uint64_t i = 0;
         i < size && known.size() < std::min(kGroup, blocks); ++i) {
      known.insert(order.BlockOf(order.At(i)).begin);
    }
    std::optional<std::uint64_t> previous;
    for (std::uint64_t i = 0; i < size; ++i) {
      const Block own = order.BlockOf(order.At(i));
      REQUIRE(own.begin <= order.At(i));
      REQUIRE(own.end > order.At(i));
      UNSCOPED_INFO(size << " " << block);
      REQUIRE(known.contains(own.begin));
      if (const auto due = order.DueAt(i, previous)) meet(*due);
      previous = i;
    }
    CHECK(known.size() == blocks);
  }
}

TEST_CASE("A block order shuffles the blocks and their samples",
          "[sampler][block_order]") {
  constexpr std::uint64_t kSize = 64'000;
  constexpr std::uint64_t kBlock = 100;
  const BlockOrder order(kSize, kBlock, kSeed, 0);
  // A random order has about one number at its own position.
  std::uint64_t at_home = 0;
  std::uint64_t rising = 0;
  for (std::uint64_t i = 0; i < kSize; ++i) {
    if (order.At(i) == i) ++at_home;
    if (i > 0 && order.At(i) > order.At(i - 1)) ++rising;
  }
  CHECK(at_home < 20u);
  // Half of all steps should rise, with a standard deviation of some 75.
  CHECK_THAT(static_cast<double>(rising), WithinAbs(kSize / 2.0, 600));
}

TEST_CASE("Block orders differ between seeds and between epochs",
          "[sampler][block_order]") {
  constexpr std::uint64_t kSize = 5000;
  const auto order = [](std::uint64_t seed, std::uint64_t epoch) {
    const BlockOrder made(kSize, 10, seed, epoch);
    std::vector<std::uint64_t> ids(kSize);
    for (std::uint64_t i = 0; i < kSize; ++i) ids[i] = made.At(i);
    return ids;
  };
  CHECK(order(1, 2) == order(1, 2));
  CHECK(order(1, 2) != order(2, 1));
  CHECK(order(1, 2) != order(1, 3));
}

}  // namespace
}  // namespace forebay::sampler
