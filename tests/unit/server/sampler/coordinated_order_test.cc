#include "server/sampler/coordinated_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace forebay::sampler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Order = std::vector<std::uint64_t>;

// Readers at paces of their own, in simulated time, each a batch at a time. A
// sample that was not on the shelf when it was asked for is decoded, and on the
// shelf from then on.
class Simulation {
 public:
  struct Pace {
    double speed = 1;   // samples a second
    double begins = 0;  // seconds
    std::uint64_t batch = 32;
    int epochs = 4;
  };

  Simulation(std::uint64_t size, std::size_t capacity, std::uint64_t seed,
             const std::vector<Pace>& paces)
      : order_(size, capacity, seed) {
    for (const Pace& pace : paces) {
      readers_.emplace_back();
      readers_.back().pace = pace;
      readers_.back().next = pace.begins;
    }
  }

  void Run() {
    while (true) {
      Reader* soonest = nullptr;
      for (Reader& reader : readers_) {
        if (reader.done == reader.pace.epochs) continue;
        if (soonest == nullptr || reader.next < soonest->next)
          soonest = &reader;
      }
      if (soonest == nullptr) return;
      Step(*soonest);
    }
  }

  double decodes_per_sample() const {
    return static_cast<double>(decodes_) / static_cast<double>(delivered_);
  }
  // Of each reader, of each epoch.
  std::vector<std::vector<Order>> orders() const {
    std::vector<std::vector<Order>> orders;
    for (const Reader& reader : readers_) orders.push_back(reader.orders);
    return orders;
  }

 private:
  struct Reader {
    Pace pace;
    double next = 0;
    int done = 0;
    bool joined = false;
    CoordinatedOrder::Reader number = 0;
    std::vector<Order> orders;
  };

  void Step(Reader& reader) {
    if (!reader.joined) {
      reader.number = order_.Join();
      reader.joined = true;
      reader.orders.emplace_back();
    }
    Order decoded;
    std::uint64_t count = 0;
    for (; count < reader.pace.batch && order_.Left(reader.number) > 0;
         ++count) {
      const std::uint64_t sample = order_.Next(reader.number);
      reader.orders.back().push_back(sample);
      if (!order_.IsShelved(sample)) decoded.push_back(sample);
    }
    // Decoding takes a while: nobody sees the samples of a batch before it is
    // complete.
    for (const std::uint64_t sample : decoded) order_.Put(sample);
    decodes_ += decoded.size();
    delivered_ += count;
    reader.next += static_cast<double>(count) / reader.pace.speed;
    if (order_.Left(reader.number) > 0) return;
    if (++reader.done == reader.pace.epochs) {
      order_.Leave(reader.number);
    } else {
      order_.StartEpoch(reader.number);
      reader.orders.emplace_back();
    }
  }

  CoordinatedOrder order_;
  std::vector<Reader> readers_;
  std::uint64_t decodes_ = 0;
  std::uint64_t delivered_ = 0;
};

// Of the positions of each sample in two epochs.
double Spearman(const Order& first, const Order& second) {
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

void ExpectPermutation(const Order& order, std::uint64_t size) {
  Order sorted = order;
  std::sort(sorted.begin(), sorted.end());
  Order all(size);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(sorted, all);
}

std::vector<Simulation::Pace> FourReaders(std::uint64_t size,
                                          const std::vector<double>& speeds) {
  const double epoch = static_cast<double>(size);
  return {{speeds[0], 0, 32},
          {speeds[1], 0.20 * epoch, 48},
          {speeds[2], 0.37 * epoch, 64},
          {speeds[3], 0.61 * epoch, 100}};
}

TEST(CoordinatedOrderTest, FourReadersDecodeMostSamplesOnce) {
  constexpr std::uint64_t kSize = 6'000;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Simulation simulation(kSize, kSize / 10, seed,
                          FourReaders(kSize, {1, 1, 1, 1}));
    simulation.Run();
    const double spearman = HighestSpearman(simulation);
    std::printf("seed %llu: %.3f decodes a sample, Spearman at most %.2f\n",
                static_cast<unsigned long long>(seed),
                simulation.decodes_per_sample(), spearman);
    EXPECT_LE(simulation.decodes_per_sample(), 0.30);
    EXPECT_LE(spearman, 0.5);
    for (const auto& epochs : simulation.orders()) {
      ASSERT_EQ(epochs.size(), 4u);
      for (const Order& order : epochs) ExpectPermutation(order, kSize);
    }
  }
}

TEST(CoordinatedOrderTest, ReadersOfUnequalSpeedsShareLess) {
  constexpr std::uint64_t kSize = 6'000;
  Simulation simulation(kSize, kSize / 10, 1,
                        FourReaders(kSize, {1, 0.8, 0.5, 0.3}));
  simulation.Run();
  std::printf("%.3f decodes a sample, Spearman at most %.2f\n",
              simulation.decodes_per_sample(), HighestSpearman(simulation));
  EXPECT_LE(simulation.decodes_per_sample(), 0.6);
}

// Chi-square of where a sample stands, over many runs.
double ChiSquare(const std::vector<int>& counts) {
  const double mean = std::accumulate(counts.begin(), counts.end(), 0.0) /
                      static_cast<double>(counts.size());
  double sum = 0;
  for (const int count : counts) sum += (count - mean) * (count - mean) / mean;
  return sum;
}

TEST(CoordinatedOrderTest, EachEpochIsUniformlyRandomForEachReader) {
  constexpr std::uint64_t kSize = 12;
  constexpr int kRuns = 4'000;
  // Of three readers' three epochs: how often sample 5 stands at each position,
  // and how often each sample follows on it.
  std::vector<std::vector<int>> places(9, std::vector<int>(kSize));
  std::vector<std::vector<int>> behind(9, std::vector<int>(kSize));
  for (int run = 0; run < kRuns; ++run) {
    Simulation simulation(kSize, 4, static_cast<std::uint64_t>(run),
                          {{1, 0, 2, 3}, {0.7, 5.1, 3, 3}, {1.1, 9.3, 1, 3}});
    simulation.Run();
    int epoch = 0;
    for (const auto& epochs : simulation.orders()) {
      for (const Order& order : epochs) {
        const auto at = std::find(order.begin(), order.end(), 5);
        ++places[epoch][at - order.begin()];
        if (at + 1 != order.end()) ++behind[epoch][*(at + 1)];
        ++epoch;
      }
    }
  }
  for (std::size_t epoch = 0; epoch < places.size(); ++epoch) {
    SCOPED_TRACE(epoch);
    // 11 degrees of freedom: once in 100,000 runs above.
    EXPECT_LT(ChiSquare(places[epoch]), 42.2);
    behind[epoch].erase(behind[epoch].begin() + 5);
    EXPECT_LT(ChiSquare(behind[epoch]), 42.2);
  }
}

TEST(CoordinatedOrderTest, EqualCallsGiveEqualSamples) {
  const auto orders = [](std::uint64_t seed) {
    Simulation simulation(500, 50, seed, FourReaders(500, {1, 0.9, 0.5, 1.2}));
    simulation.Run();
    return simulation.orders();
  };
  EXPECT_EQ(orders(7), orders(7));
  EXPECT_NE(orders(7), orders(8));
}

TEST(CoordinatedOrderTest, GoesOnWithWhatWasSeen) {
  CoordinatedOrder order(11, 4, 1);
  const auto reader = order.Join();
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 4; ++i) seen.insert(order.Next(reader));
  const std::vector<std::uint8_t> state = order.Seen(reader);

  CoordinatedOrder later(11, 4, 2);
  const auto resumed = later.Join();
  for (std::uint64_t i = 0; i < 11; ++i) later.Put(i);
  ASSERT_TRUE(later.Resume(resumed, state).ok());
  EXPECT_EQ(later.Left(resumed), 7u);
  while (later.Left(resumed) > 0) {
    EXPECT_TRUE(seen.insert(later.Next(resumed)).second);
  }
  EXPECT_EQ(seen.size(), 11u);

  EXPECT_EQ(later.Resume(resumed, std::vector<std::uint8_t>(3)).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(later.Resume(resumed, std::vector<std::uint8_t>{0, 0x08}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(later.Left(resumed), 0u);
}

// What one reader must see, kept in the simplest way.
struct Witness {
  CoordinatedOrder::Reader number = 0;
  std::set<std::uint64_t> unseen;
};

TEST(CoordinatedOrderTest, EverySampleComesOnceWhateverHappens) {
  constexpr std::uint32_t kSchedules = 2'000;
  for (std::uint32_t schedule = 0; schedule < kSchedules; ++schedule) {
    SCOPED_TRACE(::testing::Message() << "seed " << schedule);
    std::mt19937 random(schedule);
    const std::uint64_t size = 1 + random() % 150;
    CoordinatedOrder order(size, random() % 20, schedule);
    std::vector<Witness> readers;
    std::set<std::uint64_t> all;
    for (std::uint64_t i = 0; i < size; ++i) all.insert(i);
    for (int step = 0; step < 400; ++step) {
      const std::uint32_t what = random() % 100;
      if (readers.empty() || (what < 3 && readers.size() < 6)) {
        readers.push_back({order.Join(), all});
        continue;
      }
      const std::size_t at = random() % readers.size();
      Witness& reader = readers[at];
      if (what < 5) {
        order.Leave(reader.number);
        readers.erase(readers.begin() + static_cast<std::ptrdiff_t>(at));
      } else if (what < 7) {
        order.StartEpoch(reader.number);
        reader.unseen = all;
      } else if (what < 9) {
        const std::vector<std::uint8_t> seen = order.Seen(reader.number);
        order.Leave(reader.number);
        reader.number = order.Join();
        ASSERT_TRUE(order.Resume(reader.number, seen).ok());
      } else if (what < 13) {
        order.Drop(random() % size);
      } else if (what < 14) {
        const std::size_t capacity = random() % 20;
        order.SetCapacity(capacity);
        ASSERT_LE(order.shelved(), capacity);
      } else if (order.Left(reader.number) == 0) {
        ASSERT_TRUE(reader.unseen.empty());
        order.StartEpoch(reader.number);
        reader.unseen = all;
      } else {
        const std::uint64_t sample = order.Next(reader.number);
        ASSERT_EQ(reader.unseen.erase(sample), 1u);
        if (random() % 3 != 0) order.Put(sample);
      }
      if (readers.empty()) continue;
      ASSERT_EQ(order.Left(readers[0].number), readers[0].unseen.size());
      // What it could take from the shelf it has not seen.
      std::size_t shelved = 0;
      for (const std::uint64_t sample : readers[0].unseen) {
        shelved += order.IsShelved(sample);
      }
      ASSERT_EQ(order.Shelved(readers[0].number), shelved);
    }
  }
}

TEST(SampleSetTest, FindsWhatItLacks) {
  for (const std::uint64_t size : {1, 63, 64, 65, 4'096, 4'097, 300'000}) {
    SCOPED_TRACE(size);
    SampleSet set(size);
    EXPECT_EQ(set.lacking(), size);
    EXPECT_EQ(set.Lacking(0), 0u);
    EXPECT_EQ(set.Lacking(size - 1), size - 1);
    std::mt19937 random(1);
    for (std::uint64_t i = 0; i < size; ++i) {
      if (random() % 16 != 0) set.Add(i);
    }
    Order lacking;
    for (std::uint64_t i = 0; i < size; ++i) {
      if (!set.Has(i)) lacking.push_back(i);
    }
    ASSERT_EQ(set.lacking(), lacking.size());
    for (std::uint64_t rank = 0; rank < lacking.size(); ++rank) {
      ASSERT_EQ(set.Lacking(rank), lacking[rank]);
    }
    SampleSet copy(size);
    ASSERT_TRUE(copy.Assign(set.ToBytes()).ok());
    EXPECT_EQ(copy.ToBytes(), set.ToBytes());
    EXPECT_EQ(copy.lacking(), set.lacking());
  }
  EXPECT_EQ(SampleSet(0).lacking(), 0u);
  EXPECT_THAT(SampleSet(0).ToBytes(), IsEmpty());
  SampleSet set(10);
  set.Add(1);
  set.Add(9);
  set.Add(9);
  EXPECT_THAT(set.ToBytes(), ElementsAre(0x02, 0x02));
  EXPECT_EQ(set.lacking(), 8u);
}

}  // namespace
}  // namespace forebay::sampler
