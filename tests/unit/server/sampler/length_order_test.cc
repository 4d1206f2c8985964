#include "server/sampler/length_order.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "server/sampler/length_plan.h"
#include "server/sampler/partition.h"
#include "server/sampler/permutation.h"
#include "tests/catch/catch.h"
#include "tests/catch/suite.h"

namespace forebay::sampler {
namespace {

// Lengths that depend only on the sample's number.
class SomeLengths final : public SampleLengths {
 public:
  explicit SomeLengths(std::uint64_t most) : most_(most) {}
  std::uint64_t LengthOf(std::uint64_t sample) const override {
    return 1 + (sample * 0x9E3779B97F4A7C15 >> 33) % most_;
  }

 private:
  const std::uint64_t most_;
};

// A store that never drops a window.
class AllWindows final : public WindowStore {
 public:
  LengthWindowPtr Find(std::uint64_t number) const override {
    const auto found = windows_.find(number);
    return found == windows_.end() ? nullptr : found->second;
  }
  void Keep(LengthWindowPtr window) override {
    windows_[window->number] = std::move(window);
  }

 private:
  std::map<std::uint64_t, LengthWindowPtr> windows_;
};

std::unique_ptr<WindowStore> MakeStore() {
  return std::make_unique<AllWindows>();
}

struct Case {
  std::uint64_t size = 0;
  std::uint32_t world_size = 1;
  Pad pad = Pad::kWrap;
  bool shuffles = true;
  LengthPlan plan;

  LengthOrder For(std::uint32_t rank, std::uint64_t epoch = 3) const {
    std::optional<Permutation> shuffle;
    if (shuffles) shuffle.emplace(size, 7, epoch);
    LengthPlan kept = plan;
    kept.make_store = MakeStore;
    return {kept, Partition(size, rank, world_size, pad), shuffle, 7, epoch};
  }
  std::uint64_t CountOf(std::uint32_t rank) const {
    return Partition(size, rank, world_size, pad).count();
  }
};

Case RandomCase(std::mt19937_64& random) {
  Case made;
  made.size = 1 + random() % 700;
  made.world_size = static_cast<std::uint32_t>(1 + random() % 5);
  made.pad = static_cast<Pad>(random() % 3);
  made.shuffles = random() % 4 != 0;
  made.plan.window = 1 + random() % 300;
  made.plan.sorts = random() % 3 != 0;
  made.plan.batch = 1 + random() % 20;
  made.plan.lengths = std::make_shared<SomeLengths>(1 + random() % 90);
  if (random() % 2 == 0)
    made.plan.limit = {.most = 90 + random() % 900,
                       .padded = random() % 2 == 0};
  return made;
}

std::vector<std::uint64_t> SamplesOf(const LengthOrder& order,
                                     std::uint64_t count) {
  std::vector<std::uint64_t> samples;
  for (std::uint64_t i = 0; i < count; ++i)
    samples.push_back(order.SampleAt(i));
  return samples;
}

std::vector<std::uint64_t> EndsOf(const LengthOrder& order,
                                  std::uint64_t count) {
  std::vector<std::uint64_t> ends;
  for (std::uint64_t at = 0; at < count;) {
    at = order.EndOfBatch(at);
    ends.push_back(at);
  }
  return ends;
}

class LengthOrderTest {
 public:
  using Subject = unsigned;

  explicit LengthOrderTest(Subject seed) : random_(seed) {
    case_ = RandomCase(random_);
  }

 protected:
  std::mt19937_64 random_;
  Case case_;
};

// Over all ranks, each sample comes as often as in an order without lengths.
SUITE_CASE(LengthOrderTest,
           "A length order has the samples of the order without lengths",
           "[sampler][length_order]") {
  std::map<std::uint64_t, int> got;
  std::map<std::uint64_t, int> wanted;
  std::optional<Permutation> shuffle;
  if (case_.shuffles) shuffle.emplace(case_.size, 7, 3);
  for (std::uint32_t rank = 0; rank < case_.world_size; ++rank) {
    const Partition partition(case_.size, rank, case_.world_size, case_.pad);
    const LengthOrder order = case_.For(rank);
    for (std::uint64_t i = 0; i < partition.count(); ++i) {
      ++got[order.SampleAt(i)];
      const std::uint64_t place = partition.PlaceAt(i);
      ++wanted[shuffle.has_value() ? shuffle->At(place) : place];
    }
  }
  CHECK(got == wanted);
}

SUITE_CASE(LengthOrderTest,
           "A length order has the same samples in whatever sequence they are "
           "asked for",
           "[sampler][length_order]") {
  const std::uint64_t count = case_.CountOf(0);
  const std::vector<std::uint64_t> samples = SamplesOf(case_.For(0), count);
  std::vector<std::uint64_t> positions(count);
  std::iota(positions.begin(), positions.end(), 0);
  std::shuffle(positions.begin(), positions.end(), random_);
  const LengthOrder order = case_.For(0);
  for (const std::uint64_t position : positions)
    CHECK(order.SampleAt(position) == samples[position]);
}

SUITE_CASE(LengthOrderTest, "A length order keeps its batches within the limit",
           "[sampler][length_order]") {
  const std::uint64_t count = case_.CountOf(0);
  const LengthOrder order = case_.For(0);
  std::uint64_t begin = 0;
  for (const std::uint64_t end : EndsOf(order, count)) {
    REQUIRE(end > begin);
    REQUIRE(end <= count);
    const std::uint64_t samples = end - begin;
    CHECK(samples <= case_.plan.batch);
    if (!case_.plan.limit.has_value()) {
      CHECK((samples == case_.plan.batch || end == count));
    } else if (samples > 1) {
      std::uint64_t sum = 0;
      std::uint64_t longest = 0;
      for (std::uint64_t i = begin; i < end; ++i) {
        const std::uint64_t length =
            case_.plan.lengths->LengthOf(order.SampleAt(i));
        sum += length;
        longest = std::max(longest, length);
      }
      CHECK((case_.plan.limit->padded ? longest * samples : sum) <=
            case_.plan.limit->most);
    }
    begin = end;
  }
}

SUITE_CASE(LengthOrderTest,
           "A length order gives all ranks batches of equal size",
           "[sampler][length_order]") {
  const std::vector<std::uint64_t> first =
      EndsOf(case_.For(0), case_.CountOf(0));
  for (std::uint32_t rank = 1; rank < case_.world_size; ++rank) {
    const std::uint64_t count = case_.CountOf(rank);
    std::vector<std::uint64_t> ends = EndsOf(case_.For(rank), count);
    // Without padding, a rank may lack one sample.
    if (count < case_.CountOf(0)) {
      if (ends.size() == first.size()) {
        CHECK(ends.back() + 1 == first.back());
        ends.back() = first.back();
      } else {
        ends.push_back(first.back());
      }
    }
    CHECK(ends == first);
  }
}

SUITE_CASE(LengthOrderTest,
           "A length order finds samples of windows at hand exactly",
           "[sampler][length_order]") {
  const std::uint64_t count = case_.CountOf(0);
  const LengthOrder order = case_.For(0);
  for (std::uint64_t position = 0; position < count; ++position) {
    const auto found = order.PositionOf(order.SampleAt(position));
    REQUIRE(found.has_value());
    // With padding, a sample comes twice, perhaps at distant positions.
    if (case_.pad != Pad::kWrap || case_.size % case_.world_size == 0) {
      CHECK(*found == position);
    }
  }
}

SUITE_CASE(LengthOrderTest,
           "A length order counts batches within three windows exactly",
           "[sampler][length_order]") {
  const std::uint64_t count = case_.CountOf(0);
  const LengthOrder order = case_.For(0);
  std::uint64_t steps =
      (case_.plan.window + case_.world_size - 1) / case_.world_size;
  if (!case_.plan.limit.has_value())
    steps =
        (steps + case_.plan.batch - 1) / case_.plan.batch * case_.plan.batch;
  std::vector<std::uint64_t> begins = {0};
  for (const std::uint64_t end : EndsOf(order, count)) begins.push_back(end);
  begins.pop_back();  // no batch begins at the epoch's end
  for (std::size_t i = 0; i < begins.size(); ++i) {
    for (std::size_t k = i; k < std::min(i + 5, begins.size()); ++k) {
      const auto batches = order.BatchesBetween(begins[i], begins[k]);
      REQUIRE(batches.has_value());
      // The count is a guess for positions farther away.
      if (begins[k] / steps - begins[i] / steps <= 2) {
        CHECK(*batches == k - i);
      }
      CHECK((*batches == 0) == (k == i));
    }
    if (i + 1 < begins.size() && begins[i] + 1 < begins[i + 1]) {
      CHECK(order.BatchesBetween(begins[i], begins[i] + 1) == std::nullopt);
    }
  }
}

// A state that was saved with one number of ranks is then valid for other
// numbers.
SUITE_CASE(LengthOrderTest,
           "A length order has one order for all numbers of ranks",
           "[sampler][length_order]") {
  case_.plan.limit.reset();  // batches then depend on the number of ranks
  Case alone = case_;
  alone.world_size = 1;
  alone.pad = Pad::kNone;
  alone.plan.batch = case_.plan.batch * case_.world_size;
  // Windows have the same number of samples in both cases.
  alone.plan.window = case_.plan.window =
      (case_.plan.window / alone.plan.batch + 1) * alone.plan.batch;
  const std::vector<std::uint64_t> wanted = SamplesOf(alone.For(0), case_.size);
  for (std::uint32_t rank = 0; rank < case_.world_size; ++rank) {
    const LengthOrder order = case_.For(rank);
    for (std::uint64_t i = 0; i < case_.CountOf(rank); ++i) {
      const std::uint64_t place = i * case_.world_size + rank;
      if (place < case_.size) {
        CHECK(order.SampleAt(i) == wanted[place]);
      }
    }
  }
}

// A batch has memory for one sample that comes twice.
SUITE_CASE(LengthOrderTest,
           "A length order repeats one sample of a batch at most",
           "[sampler][length_order]") {
  for (std::uint32_t rank = 0; rank < case_.world_size; ++rank) {
    const LengthOrder order = case_.For(rank);
    std::uint64_t begin = 0;
    for (const std::uint64_t end : EndsOf(order, case_.CountOf(rank))) {
      std::map<std::uint64_t, int> times;
      for (std::uint64_t i = begin; i < end; ++i) ++times[order.SampleAt(i)];
      CHECK(end - begin <= times.size() + 1);
      begin = end;
    }
  }
}

SUITE_CASE(LengthOrderTest,
           "A length order differs from epoch to epoch if it shuffles",
           "[sampler][length_order]") {
  case_.size += 100;  // fewer samples might have the same order by chance
  const std::uint64_t count = case_.CountOf(0);
  const bool equal =
      SamplesOf(case_.For(0, 3), count) == SamplesOf(case_.For(0, 4), count);
  CHECK(equal == !case_.shuffles);
}

const tests::RunsOn<LengthOrderTest> kSeeds(tests::Seeds(60));

TEST_CASE("A length order brings like lengths together",
          "[sampler][length_order]") {
  Case big{.size = 20'000, .plan = {}};
  big.plan = {.window = 2'000,
              .sorts = true,
              .batch = 20,
              .limit = std::nullopt,
              .lengths = std::make_shared<SomeLengths>(1'000)};
  const LengthOrder order = big.For(0);
  std::uint64_t padding = 0;
  std::uint64_t sum = 0;
  for (std::uint64_t begin = 0; begin < big.size; begin += 20) {
    std::uint64_t longest = 0;
    std::uint64_t batch = 0;
    for (std::uint64_t i = begin; i < begin + 20; ++i) {
      const std::uint64_t length =
          big.plan.lengths->LengthOf(order.SampleAt(i));
      longest = std::max(longest, length);
      batch += length;
    }
    padding += longest * 20 - batch;
    sum += batch;
  }
  // Without sorting, nearly every second element would be padding.
  CHECK(padding < sum / 50);
}

// A loader that drops the smaller last batch still delivers each sample in some
// epoch.
TEST_CASE("A length order has no sample in the last batch of every epoch",
          "[sampler][length_order]") {
  Case few{.size = 100, .plan = {}};
  few.plan = {.window = 1'000,
              .sorts = true,
              .batch = 16,
              .limit = std::nullopt,
              .lengths = std::make_shared<SomeLengths>(1'000)};
  std::map<std::uint64_t, int> dropped;
  for (std::uint64_t epoch = 0; epoch < 40; ++epoch) {
    const LengthOrder order = few.For(0, epoch);
    for (std::uint64_t i = 96; i < 100; ++i) ++dropped[order.SampleAt(i)];
  }
  for (const auto& [sample, times] : dropped) {
    CAPTURE(sample);
    CHECK(times < 15);
  }
}

TEST_CASE("A length order shuffles the batches of a window",
          "[sampler][length_order]") {
  Case big{.size = 2'000, .plan = {}};
  big.plan = {.window = 2'000,
              .sorts = true,
              .batch = 10,
              .limit = std::nullopt,
              .lengths = std::make_shared<SomeLengths>(1'000)};
  const LengthOrder order = big.For(0);
  int shorter = 0;
  for (std::uint64_t begin = 10; begin < big.size; begin += 10) {
    shorter += big.plan.lengths->LengthOf(order.SampleAt(begin)) <
               big.plan.lengths->LengthOf(order.SampleAt(begin - 10));
  }
  CHECK(shorter > 60);
  CHECK(shorter < 140);
}

TEST_CASE("A batch takes a sample longer than the limit alone",
          "[sampler][length_order]") {
  const LengthPlan plan{.batch = 8, .limit = LengthLimit{.most = 10}};
  const std::vector<std::uint64_t> lengths = {25, 3, 3, 3, 3};
  CHECK(StepsOfBatch(lengths, 1, plan) == 1);
  CHECK(StepsOfBatch(absl::MakeConstSpan(lengths).subspan(1), 1, plan) == 3);
}

TEST_CASE("The steps of a batch count each rank for itself",
          "[sampler][length_order]") {
  const LengthPlan plan{.batch = 8, .limit = LengthLimit{.most = 10}};
  const std::vector<std::uint64_t> lengths = {9, 1, 1, 9, 1, 1};
  CHECK(StepsOfBatch(lengths, 2, plan) == 2);
}

TEST_CASE("The steps of a batch count padding to the longest sample",
          "[sampler][length_order]") {
  const LengthPlan plan{.batch = 8,
                        .limit = LengthLimit{.most = 10, .padded = true}};
  const std::vector<std::uint64_t> lengths = {1, 1, 3, 3, 1};
  CHECK(StepsOfBatch(lengths, 1, plan) == 3);
}

}  // namespace
}  // namespace forebay::sampler
