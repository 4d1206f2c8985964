#include "server/sampler/coordinated_order.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/unit/server/sampler/order_simulation.h"

namespace forebay::sampler {
namespace {

// Returns Spearman's rank correlation of the samples' positions in two epochs.
double Spearman(const SampleList& first, const SampleList& second) {
  const auto size = static_cast<double>(first.size());
  std::vector<double> position(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    position[first[i]] = static_cast<double>(i);
  }
  double squares = 0;
  for (std::size_t i = 0; i < second.size(); ++i) {
    const double distance = position[second[i]] - static_cast<double>(i);
    squares += distance * distance;
  }
  return 1 - 6 * squares / (size * (size * size - 1));
}

double HighestSpearman(const Simulation& simulation) {
  double highest = -1;
  for (const auto& epochs : simulation.orders()) {
    for (std::size_t i = 0; i + 1 < epochs.size(); ++i) {
      highest = std::max(highest, Spearman(epochs[i], epochs[i + 1]));
    }
  }
  return highest;
}

void ExpectPermutation(const SampleList& order, std::uint64_t size) {
  SampleList sorted = order;
  std::sort(sorted.begin(), sorted.end());
  SampleList all(size);
  std::iota(all.begin(), all.end(), 0);
  CHECK(sorted == all);
}

std::vector<Simulation::Pace> FourReaders(std::uint64_t size,
                                          const std::vector<double>& speeds) {
  const double epoch = static_cast<double>(size);
  return {{speeds[0], 0, 32},
          {speeds[1], 0.20 * epoch, 48},
          {speeds[2], 0.37 * epoch, 64},
          {speeds[3], 0.61 * epoch, 100}};
}

// Expects that a finished simulation decoded little and mixed its epochs.
void ExpectShares(const Simulation& simulation, std::uint64_t seed,
                  double most_decodes) {
  const double spearman = HighestSpearman(simulation);
  std::printf("seed %llu: %.3f decodes a sample, Spearman at most %.2f\n",
              static_cast<unsigned long long>(seed),
              simulation.decodes_per_sample(), spearman);
  CHECK(simulation.decodes_per_sample() <= most_decodes);
  CHECK(spearman <= 0.5);
}

TEST_CASE("Four readers of a coordinated order decode most samples once",
          "[sampler][coordinated_order]") {
  constexpr std::uint64_t kSize = 6'000;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Simulation simulation(kSize, kSize / 10, seed,
                          FourReaders(kSize, {1, 1, 1, 1}));
    simulation.Run();
    ExpectShares(simulation, seed, 0.30);
    for (const auto& epochs : simulation.orders()) {
      REQUIRE(epochs.size() == 4u);
      for (const SampleList& order : epochs) ExpectPermutation(order, kSize);
    }
  }
}

// While a reader decodes, it is slower, and other readers get ahead. If readers
// did not decode in turns for all, they would end far apart, and the last one
// would decode alone.
TEST_CASE(
    "Four readers of a coordinated order share as much when they run at full "
    "speed",
    "[sampler][coordinated_order]") {
  constexpr std::uint64_t kSize = 6'000;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    // At first there is one reader, which has all CPU time and needs 0.7 s for
    // each sample.
    const auto at = [](double part) {
      return part * static_cast<double>(kSize) *
             (Simulation::kMake + Simulation::kDecode);
    };
    Simulation simulation(
        kSize, kSize / 10, seed,
        {{0, 0, 32}, {0, at(0.20), 48}, {0, at(0.48), 64}, {0, at(1.00), 100}});
    simulation.Run();
    ExpectShares(simulation, seed, 0.31);
  }
}

TEST_CASE("A reader that stands still holds nobody up in a coordinated order",
          "[sampler][coordinated_order]") {
  constexpr std::uint64_t kSize = 2'000;
  CoordinatedOrder order(kSize, kSize / 10, 3);
  order.Join();  // the new member leaves most samples unread
  const auto stopped = order.Join();
  while (order.Left(stopped) > 50) order.Done(order.Next(stopped));
  const auto first = order.Join();
  const auto second = order.Join();
  std::vector<SampleList> epochs;
  int decodes = 0;
  for (int epoch = 0; epoch < 3; ++epoch) {
    order.StartEpoch(first, SampleSet(order.size()));
    order.StartEpoch(second, SampleSet(order.size()));
    epochs.emplace_back();
    while (order.Left(first) > 0) {
      for (const auto member : {first, second}) {
        const std::uint64_t sample = order.Next(member);
        decodes += order.IsDecoded(sample) ? 0 : 1;
        order.Put(sample);
        order.Done(sample);
        if (member == first) epochs.back().push_back(sample);
      }
    }
  }
  CHECK(decodes <= 0.65 * 6 * kSize);
  CHECK(Spearman(epochs[0], epochs[1]) <= 0.5);
  CHECK(Spearman(epochs[1], epochs[2]) <= 0.5);
}

TEST_CASE(
    "A coordinated order leaves a sample that a reader makes until it is there",
    "[sampler][coordinated_order]") {
  constexpr std::uint64_t kSize = 60;
  CoordinatedOrder order(kSize, kSize, 1);
  const auto first = order.Join();
  const auto second = order.Join();
  std::set<std::uint64_t> making;
  for (int i = 0; i < 20; ++i) making.insert(order.Next(first));
  for (int i = 0; i < 20; ++i) {
    CHECK(making.insert(order.Next(second)).second);
  }
  CHECK(making.size() == 40u);
  for (const std::uint64_t sample : making) {
    CHECK(order.IsInFlight(sample));
    order.Done(sample);
    CHECK_FALSE(order.IsInFlight(sample));
  }
}

TEST_CASE("Readers of unequal speeds share less of a coordinated order",
          "[sampler][coordinated_order]") {
  constexpr std::uint64_t kSize = 6'000;
  Simulation simulation(kSize, kSize / 10, 1,
                        FourReaders(kSize, {1, 0.8, 0.5, 0.3}));
  simulation.Run();
  std::printf("%.3f decodes a sample, Spearman at most %.2f\n",
              simulation.decodes_per_sample(), HighestSpearman(simulation));
  CHECK(simulation.decodes_per_sample() <= 0.6);
}

// Returns the chi-square statistic of a sample's positions in many runs.
double ChiSquare(const std::vector<int>& counts) {
  const double mean = std::accumulate(counts.begin(), counts.end(), 0.0) /
                      static_cast<double>(counts.size());
  double sum = 0;
  for (const int count : counts) sum += (count - mean) * (count - mean) / mean;
  return sum;
}

TEST_CASE(
    "Each epoch of a coordinated order is uniformly random for each reader",
    "[sampler][coordinated_order]") {
  constexpr std::uint64_t kSize = 12;
  constexpr int kRuns = 4'000;
  // Counts for three epochs of three members: how often sample 5 is at each
  // position, and how often each sample follows it.
  std::vector<std::vector<int>> places(9, std::vector<int>(kSize));
  std::vector<std::vector<int>> behind(9, std::vector<int>(kSize));
  for (int run = 0; run < kRuns; ++run) {
    Simulation simulation(kSize, 4, static_cast<std::uint64_t>(run),
                          {{1, 0, 2, 3}, {0.7, 5.1, 3, 3}, {1.1, 9.3, 1, 3}});
    simulation.Run();
    int epoch = 0;
    for (const auto& epochs : simulation.orders()) {
      for (const SampleList& order : epochs) {
        const auto at = std::find(order.begin(), order.end(), 5);
        ++places[epoch][at - order.begin()];
        if (at + 1 != order.end()) ++behind[epoch][*(at + 1)];
        ++epoch;
      }
    }
  }
  for (std::size_t epoch = 0; epoch < places.size(); ++epoch) {
    CAPTURE(epoch);
    // Random orders exceed this bound once in 100,000 runs, with 11 degrees of
    // freedom.
    CHECK(ChiSquare(places[epoch]) < 42.2);
    behind[epoch].erase(behind[epoch].begin() + 5);
    CHECK(ChiSquare(behind[epoch]) < 42.2);
  }
}

TEST_CASE("Equal calls of a coordinated order give equal samples",
          "[sampler][coordinated_order]") {
  const auto orders = [](std::uint64_t seed) {
    Simulation simulation(500, 50, seed, FourReaders(500, {1, 0.9, 0.5, 1.2}));
    simulation.Run();
    return simulation.orders();
  };
  CHECK(orders(7) == orders(7));
  CHECK(orders(7) != orders(8));
}

TEST_CASE("A coordinated order goes on from what a reader has seen",
          "[sampler][coordinated_order]") {
  CoordinatedOrder order(11, 4, 1);
  const auto member = order.Join();
  std::set<std::uint64_t> seen;
  SampleSet state(11);
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t sample = order.Next(member);
    seen.insert(sample);
    state.Add(sample);
  }

  CoordinatedOrder later(11, 4, 2);
  const auto resumed = later.Join();
  for (std::uint64_t i = 0; i < 11; ++i) later.Put(i);
  later.StartEpoch(resumed, state);
  CHECK(later.Left(resumed) == 7u);
  while (later.Left(resumed) > 0) {
    CHECK(seen.insert(later.Next(resumed)).second);
  }
  CHECK(seen.size() == 11u);
}

// A simple model of a member: the samples that it has not seen.
struct Witness {
  CoordinatedOrder::Member number = 0;
  std::set<std::uint64_t> unseen;
};

TEST_CASE("Every sample of a coordinated order comes once whatever happens",
          "[sampler][coordinated_order]") {
  constexpr std::uint32_t kSchedules = 2'000;
  for (std::uint32_t schedule = 0; schedule < kSchedules; ++schedule) {
    INFO("seed " << schedule);
    std::mt19937 random(schedule);
    const std::uint64_t size = 1 + random() % 150;
    CoordinatedOrder order(size, random() % 20, schedule);
    std::vector<Witness> members;
    std::set<std::uint64_t> all;
    for (std::uint64_t i = 0; i < size; ++i) all.insert(i);
    for (int step = 0; step < 400; ++step) {
      const std::uint32_t what = random() % 100;
      if (members.empty() || (what < 3 && members.size() < 6)) {
        members.push_back({order.Join(), all});
        continue;
      }
      const std::size_t at = random() % members.size();
      Witness& member = members[at];
      if (what < 5) {
        order.Leave(member.number);
        members.erase(members.begin() + static_cast<std::ptrdiff_t>(at));
      } else if (what < 7) {
        order.StartEpoch(member.number, SampleSet(order.size()));
        member.unseen = all;
      } else if (what < 9) {
        order.Leave(member.number);
        member.number = order.Join();
        SampleSet seen(size);
        for (std::uint64_t i = 0; i < size; ++i) {
          if (!member.unseen.contains(i)) seen.Add(i);
        }
        order.StartEpoch(member.number, std::move(seen));
      } else if (what < 13) {
        order.Drop(random() % size);
      } else if (what < 14) {
        const std::size_t capacity = random() % 20;
        order.SetCapacity(capacity);
        REQUIRE(order.decoded() <= capacity);
      } else if (order.Left(member.number) == 0) {
        REQUIRE(member.unseen.empty());
        order.StartEpoch(member.number, SampleSet(order.size()));
        member.unseen = all;
      } else {
        const std::uint64_t sample = order.Next(member.number);
        REQUIRE(member.unseen.erase(sample) == 1u);
        if (random() % 3 != 0) order.Put(sample);
        if (random() % 8 != 0) order.Done(sample);
      }
      if (members.empty()) continue;
      REQUIRE(order.Left(members[0].number) == members[0].unseen.size());
      // DecodedFor() counts the decoded samples that the member has not seen.
      std::size_t decoded = 0;
      for (const std::uint64_t sample : members[0].unseen) {
        decoded += order.IsDecoded(sample);
      }
      REQUIRE(order.DecodedFor(members[0].number) == decoded);
    }
  }
}

}  // namespace
}  // namespace forebay::sampler
