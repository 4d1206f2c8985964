#include "server/sampler/permutation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::sampler {
namespace {

constexpr std::uint64_t kSeed = 20240517;

std::mt19937_64 PrintedGenerator() {
  std::cout << "seed " << kSeed << "\n";
  return std::mt19937_64(kSeed);
}

// For counts that should be equal: returns how far the chi-square statistic is
// from its mean, in standard deviations.
double ChiSquareDeviation(const std::vector<std::uint64_t>& counts) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  const double expected = total / counts.size();
  double statistic = 0;
  for (const std::uint64_t count : counts) {
    statistic += (count - expected) * (count - expected) / expected;
  }
  const double freedom = counts.size() - 1;
  return (statistic - freedom) / std::sqrt(2 * freedom);
}

TEST_CASE("A permutation of a small size is complete and invertible",
          "[sampler][permutation]") {
  std::mt19937_64 random = PrintedGenerator();
  for (std::uint64_t size = 1; size <= 200; ++size) {
    for (int repeat = 0; repeat < 10; ++repeat) {
      const Permutation permutation(size, random(), random());
      std::vector<bool> seen(size);
      for (std::uint64_t i = 0; i < size; ++i) {
        const std::uint64_t id = permutation.At(i);
        REQUIRE(id < size);
        REQUIRE_FALSE(seen[id]);
        seen[id] = true;
        REQUIRE(permutation.PositionOf(id) == i);
      }
    }
  }
}

TEST_CASE("A permutation of a middling size is complete",
          "[sampler][permutation]") {
  std::mt19937_64 random = PrintedGenerator();
  for (int repeat = 0; repeat < 20; ++repeat) {
    const std::uint64_t size = 1 + random() % 200000;
    const Permutation permutation(size, random(), random());
    std::vector<bool> seen(size);
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t id = permutation.At(i);
      REQUIRE(id < size);
      UNSCOPED_INFO("size " << size);
      REQUIRE_FALSE(seen[id]);
      seen[id] = true;
    }
  }
}

TEST_CASE("A permutation of a large size is invertible",
          "[sampler][permutation]") {
  std::mt19937_64 random = PrintedGenerator();
  for (int repeat = 0; repeat < 2000; ++repeat) {
    std::uint64_t size = (random() >> (1 + random() % 63)) % kMaxSize + 1;
    if (repeat < 62) size = std::uint64_t{1} << repeat;
    if (repeat == 62) size = kMaxSize;
    if (repeat == 63) size = kMaxSize - 1;
    const Permutation permutation(size, random(), random());
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t position = random() % size;
      const std::uint64_t id = permutation.At(position);
      REQUIRE(id < size);
      UNSCOPED_INFO("size " << size);
      REQUIRE(permutation.PositionOf(id) == position);
    }
    CHECK(permutation.PositionOf(permutation.At(size - 1)) == size - 1);
  }
}

TEST_CASE("A permutation's positions are uniform over epochs",
          "[sampler][permutation]") {
  std::mt19937_64 random = PrintedGenerator();
  for (const std::uint64_t size : {2, 3, 5, 9, 16, 49, 100}) {
    for (const std::uint64_t position : {std::uint64_t{0}, size / 2}) {
      std::vector<std::uint64_t> counts(size);
      const std::uint64_t seed = random();
      for (std::uint64_t epoch = 0; epoch < 500 * size; ++epoch) {
        ++counts[Permutation(size, seed, epoch).At(position)];
      }
      UNSCOPED_INFO(size << " " << position);
      CHECK(ChiSquareDeviation(counts) < 5);
    }
  }
}

TEST_CASE("A permutation's neighbours are uniform over seeds",
          "[sampler][permutation]") {
  PrintedGenerator();
  for (const std::uint64_t size : {4, 7, 12, 20}) {
    // How often each pair of ids is at positions 0 and 1.
    std::vector<std::uint64_t> counts;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> pairs;
    for (std::uint64_t seed = 0; seed < 300 * size * size; ++seed) {
      const Permutation permutation(size, seed, 3);
      ++pairs[{permutation.At(0), permutation.At(1)}];
    }
    for (const auto& [pair, count] : pairs) counts.push_back(count);
    CHECK(counts.size() == size * (size - 1));
    CAPTURE(size);
    CHECK(ChiSquareDeviation(counts) < 5);
  }
}

TEST_CASE("A permutation puts either of two samples first equally often",
          "[sampler][permutation]") {
  std::mt19937_64 random = PrintedGenerator();
  for (const std::uint64_t size : {2, 9, 64, 1000, 1 << 20}) {
    for (int repeat = 0; repeat < 10; ++repeat) {
      const std::uint64_t a = random() % size;
      const std::uint64_t b = (a + 1 + random() % (size - 1)) % size;
      const std::uint64_t seed = random();
      std::vector<std::uint64_t> counts(2);
      for (std::uint64_t epoch = 0; epoch < 10000; ++epoch) {
        const Permutation permutation(size, seed, epoch);
        ++counts[permutation.PositionOf(a) < permutation.PositionOf(b)];
      }
      UNSCOPED_INFO(size << " " << a << " " << b);
      CHECK(ChiSquareDeviation(counts) < 12);
    }
  }
}

TEST_CASE("All orders of a few samples are equally likely in a permutation",
          "[sampler][permutation]") {
  PrintedGenerator();
  for (const std::uint64_t size : {3, 4, 5, 6, 7}) {
    std::vector<std::uint64_t> identity(size);
    std::iota(identity.begin(), identity.end(), 0);
    std::map<std::vector<std::uint64_t>, std::uint64_t> orders;
    do {
      orders[identity] = 0;
    } while (std::next_permutation(identity.begin(), identity.end()));
    for (std::uint64_t epoch = 0; epoch < 100 * orders.size(); ++epoch) {
      const Permutation permutation(size, kSeed, epoch);
      std::vector<std::uint64_t> order(size);
      for (std::uint64_t i = 0; i < size; ++i) order[i] = permutation.At(i);
      ++orders.at(order);
    }
    std::vector<std::uint64_t> counts;
    for (const auto& [order, count] : orders) counts.push_back(count);
    CAPTURE(size);
    CHECK(ChiSquareDeviation(counts) < 5);
  }
}

// Within one epoch, the ids must fill a grid of (position, id) cells evenly.
// The steps from one id to the next must be spread evenly, too.
TEST_CASE("A permutation has no stripes in one epoch",
          "[sampler][permutation]") {
  std::mt19937_64 random = PrintedGenerator();
  for (const std::uint64_t size : {1000000, 1 << 20, 999999}) {
    const Permutation permutation(size, random(), random());
    std::vector<std::uint64_t> cells(100 * 100);
    std::vector<std::uint64_t> steps(1000);
    std::uint64_t before = permutation.At(size - 1);
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t id = permutation.At(i);
      ++cells[i * 100 / size * 100 + id * 100 / size];
      ++steps[(id + size - before) % size * 1000 / size];
      before = id;
    }
    CAPTURE(size);
    CHECK(ChiSquareDeviation(cells) < 5);
    CHECK(ChiSquareDeviation(steps) < 5);
  }
}

TEST_CASE("Permutations differ between seeds and between epochs",
          "[sampler][permutation]") {
  const std::uint64_t size = 100000;
  std::map<std::vector<std::uint64_t>, int> orders;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    for (std::uint64_t epoch = 0; epoch < 40; ++epoch) {
      const Permutation permutation(size, seed, epoch);
      std::vector<std::uint64_t> head(8);
      for (int i = 0; i < 8; ++i) head[i] = permutation.At(i);
      ++orders[head];
    }
  }
  CHECK(orders.size() == 40 * 40);
}

}  // namespace
}  // namespace forebay::sampler
