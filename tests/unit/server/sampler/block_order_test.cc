#include "server/sampler/block_order.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace forebay::sampler {
namespace {

constexpr std::uint64_t kSeed = 20261121;
constexpr std::uint64_t kGroup = BlockOrder::kGroup;

std::mt19937_64 PrintedGenerator() {
  std::cout << "seed " << kSeed << "\n";
  return std::mt19937_64(kSeed);
}

TEST(BlockOrderTest, AnySizesArePermutationsAndInvertible) {
  std::mt19937_64 random = PrintedGenerator();
  for (int repeat = 0; repeat < 1500; ++repeat) {
    const std::uint64_t size = 1 + random() % 700;
    const std::uint64_t block =
        repeat % 3 == 0 ? 1 + random() % 3 : 1 + random() % (size + 5);
    const BlockOrder order(size, block, random(), random());
    std::vector<bool> seen(size);
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t id = order.At(i);
      ASSERT_LT(id, size) << size << " " << block;
      ASSERT_FALSE(seen[id]) << size << " " << block;
      seen[id] = true;
      ASSERT_EQ(order.PositionOf(id), i) << size << " " << block;
    }
  }
}

TEST(BlockOrderTest, HugeSizesAreInvertible) {
  std::mt19937_64 random = PrintedGenerator();
  for (int repeat = 0; repeat < 2000; ++repeat) {
    const std::uint64_t size = kMaxSize - random() % 1000;
    const std::uint64_t block = 1 + (random() >> (2 + random() % 60));
    const BlockOrder order(size, block, random(), random());
    const std::uint64_t position = random() % size;
    const std::uint64_t id = order.At(position);
    ASSERT_LT(id, size);
    ASSERT_EQ(order.PositionOf(id), position);
  }
}

// The purpose of the order: few blocks are begun at any time.
TEST(BlockOrderTest, OneGroupOfBlocksIsReadAtATime) {
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
      ASSERT_FALSE(done.contains(block));
      group.insert(block);
      ++length;
    }
    EXPECT_LE(length, kGroup * kBlock);
    done.insert(group.begin(), group.end());
    begin += length;
  }
  EXPECT_EQ(done.size(), blocks);
}

// A reader that goes through the order step by step is told of each block once,
// a group ahead, but for those of the first group.
TEST(BlockOrderTest, EachBlockIsDueOnceAGroupAhead) {
  std::mt19937_64 random = PrintedGenerator();
  for (int repeat = 0; repeat < 60; ++repeat) {
    const std::uint64_t size = 1 + random() % 20'000;
    const std::uint64_t block = 1 + random() % 60;
    const BlockOrder order(size, block, random(), random());
    std::set<std::uint64_t> known;
    const auto meet = [&](const Block& met) {
      ASSERT_EQ(met.begin % block, 0);
      ASSERT_EQ(met.end, std::min(met.begin + block, size));
      ASSERT_TRUE(known.insert(met.begin).second);
    };
    const std::uint64_t blocks = (size + block - 1) / block;
    // The first group is never due; the short block may be in it.
    for (std::uint64_t i = 0;
         i < size && known.size() < std::min(kGroup, blocks); ++i) {
      known.insert(order.BlockOf(order.At(i)).begin);
    }
    std::optional<std::uint64_t> previous;
    for (std::uint64_t i = 0; i < size; ++i) {
      const Block own = order.BlockOf(order.At(i));
      ASSERT_LE(own.begin, order.At(i));
      ASSERT_GT(own.end, order.At(i));
      ASSERT_TRUE(known.contains(own.begin)) << size << " " << block;
      if (const auto due = order.DueAt(i, previous)) meet(*due);
      previous = i;
    }
    EXPECT_EQ(known.size(), blocks);
  }
}

TEST(BlockOrderTest, BlocksAndTheirSamplesAreShuffled) {
  constexpr std::uint64_t kSize = 64'000;
  constexpr std::uint64_t kBlock = 100;
  const BlockOrder order(kSize, kBlock, kSeed, 0);
  // A random order has about one number at its own place.
  std::uint64_t at_home = 0;
  std::uint64_t rising = 0;
  for (std::uint64_t i = 0; i < kSize; ++i) {
    if (order.At(i) == i) ++at_home;
    if (i > 0 && order.At(i) > order.At(i - 1)) ++rising;
  }
  EXPECT_LT(at_home, 20u);
  // Expected is half of all, with a deviation of some 75.
  EXPECT_NEAR(static_cast<double>(rising), kSize / 2.0, 600);
}

TEST(BlockOrderTest, SeedsAndEpochsDiffer) {
  constexpr std::uint64_t kSize = 5000;
  const auto order = [](std::uint64_t seed, std::uint64_t epoch) {
    const BlockOrder made(kSize, 10, seed, epoch);
    std::vector<std::uint64_t> ids(kSize);
    for (std::uint64_t i = 0; i < kSize; ++i) ids[i] = made.At(i);
    return ids;
  };
  EXPECT_EQ(order(1, 2), order(1, 2));
  EXPECT_NE(order(1, 2), order(2, 1));
  EXPECT_NE(order(1, 2), order(1, 3));
}

}  // namespace
}  // namespace forebay::sampler
