#include "server/stream/epoch_next_use.h"

#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "proto/job.pb.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/base/sealed_numbers.h"

namespace forebay::stream {
namespace {

constexpr std::int64_t kNever = INT64_MAX;
constexpr std::int64_t kPeriod = 1000;

sampler::Sampler MakeSampler(std::uint64_t size, std::uint64_t seed,
                             std::uint32_t world_size = 1) {
  proto::SamplerSpec spec;
  spec.set_order(proto::SamplerSpec::SHUFFLE);
  spec.set_seed(seed);
  spec.set_world_size(world_size);
  return *sampler::Sampler::Create(spec, size);
}

std::vector<std::int64_t> AskAll(const EpochNextUse& next_use,
                                 std::uint64_t size, std::int64_t now) {
  std::vector<std::uint64_t> samples;
  for (std::uint64_t i = 0; i < size; ++i) samples.push_back(i);
  std::vector<std::int64_t> nanos(size, kNever);
  next_use.Lower(now, samples, absl::MakeSpan(nanos));
  return nanos;
}

// Compares the answers with a walk through the sampler's own order.
TEST_CASE("The next use of an epoch tells when each sample comes next",
          "[stream][epoch_next_use]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round) {
    const std::uint64_t size = 1 + random() % 200;
    const std::uint32_t world_size = 1 + random() % 3;
    const std::uint64_t epoch = random() % 5;
    const sampler::Sampler sampler = MakeSampler(size, random(), world_size);
    const std::uint64_t length = sampler.samples_per_epoch();
    const std::uint64_t position = random() % (length + 1);
    EpochNextUse next_use(size);
    next_use.Start(EpochPair::Of(sampler, epoch), position, 0);
    next_use.Advance(position, kPeriod, 0);
    std::vector<std::int64_t> expected(size, kNever);
    for (std::uint64_t at = 2 * length; at-- > position;) {
      expected[sampler.Epoch(epoch + at / length).SampleAt(at % length)] =
          static_cast<std::int64_t>(at - position) * kPeriod;
    }
    CHECK(AskAll(next_use, size, 0) == expected);
  }
}

TEST_CASE("The next use of an epoch knows where a list has a sample next",
          "[stream][epoch_next_use]") {
  proto::SamplerSpec spec;
  spec.set_order(proto::SamplerSpec::LISTED);
  base::MemoryBudget budget(1 << 20);
  EpochNextUse next_use(5);
  next_use.Start(EpochPair::Of(*sampler::Sampler::Create(spec, 5), 0,
                               base::MakeList({3, 1, 3, 0}, 5, &budget)),
                 0, 0);
  next_use.Advance(0, kPeriod, 0);
  // Samples that are not in the list may come in the next epoch. The middle of
  // that epoch is the best guess.
  CHECK(AskAll(next_use, 5, 0) ==
        std::vector<std::int64_t>{3000, 1000, 6000, 0, 6000});
  next_use.Advance(1, kPeriod, 0);
  CHECK(AskAll(next_use, 5, 0) ==
        std::vector<std::int64_t>{2000, 0, 5000, 1000, 5000});
}

TEST_CASE("The next use of an epoch only lowers the times that it is given",
          "[stream][epoch_next_use]") {
  EpochNextUse next_use(10);
  next_use.Start(EpochPair::Of(MakeSampler(10, 1), 0), 0, 0);
  const std::vector<std::uint64_t> samples = {0, 1};
  std::vector<std::int64_t> nanos = {0, kNever};
  next_use.Lower(0, samples, absl::MakeSpan(nanos));
  CHECK(nanos[0] == 0);
  CHECK(nanos[1] < kNever);
}

TEST_CASE("The next use of an epoch that is paused wants no sample",
          "[stream][epoch_next_use]") {
  EpochNextUse next_use(10);
  const std::vector<std::int64_t> nothing(10, kNever);
  CHECK(AskAll(next_use, 10, 0) == nothing);
  next_use.Start(EpochPair::Of(MakeSampler(10, 1), 0), 0, 0);
  CHECK(AskAll(next_use, 10, 0) != nothing);
  next_use.Pause();
  CHECK(AskAll(next_use, 10, 0) == nothing);
}

TEST_CASE("The next use of an epoch does not know samples of others",
          "[stream][epoch_next_use]") {
  EpochNextUse next_use(10);
  next_use.Start(EpochPair::Of(MakeSampler(10, 1), 0), 0, 0);
  const std::vector<std::uint64_t> samples = {10, UINT64_MAX};
  std::vector<std::int64_t> nanos(2, kNever);
  next_use.Lower(0, samples, absl::MakeSpan(nanos));
  CHECK(nanos == std::vector<std::int64_t>(2, kNever));
}

TEST_CASE("The time to a next use goes on between steps and then stands still",
          "[stream][epoch_next_use]") {
  const sampler::Sampler sampler = MakeSampler(100, 1);
  EpochNextUse next_use(100);
  next_use.Start(EpochPair::Of(sampler, 0), 0, 0);
  next_use.Advance(10, kPeriod, 0);
  const std::uint64_t sample = sampler.Epoch(0).SampleAt(50);
  CHECK(AskAll(next_use, 100, 0)[sample] == 40 * kPeriod);
  CHECK(AskAll(next_use, 100, 6 * kPeriod)[sample] == 34 * kPeriod);
  CHECK(AskAll(next_use, 100, 10 * kPeriod)[sample] == 30 * kPeriod);
  // The step is five periods late, so it may take five periods more.
  CHECK(AskAll(next_use, 100, 15 * kPeriod)[sample] == 35 * kPeriod);
}

TEST_CASE("The next use of an epoch keeps an order while its pace is not known",
          "[stream][epoch_next_use]") {
  const sampler::Sampler sampler = MakeSampler(100, 1);
  EpochNextUse next_use(100);
  next_use.Start(EpochPair::Of(sampler, 0), 0, 0);
  next_use.Advance(0, INT64_MAX, 0);
  const std::vector<std::int64_t> nanos = AskAll(next_use, 100, 0);
  for (std::uint64_t i = 1; i < 100; ++i) {
    CHECK(nanos[sampler.Epoch(0).SampleAt(i - 1)] <
          nanos[sampler.Epoch(0).SampleAt(i)]);
  }
}

TEST_CASE("A next use that is far away is not never",
          "[stream][epoch_next_use]") {
  EpochNextUse next_use(100);
  next_use.Start(EpochPair::Of(MakeSampler(100, 1), 0), 0, 0);
  next_use.Advance(0, INT64_MAX - 1, 0);
  for (const std::int64_t nanos : AskAll(next_use, 100, INT64_MAX / 4)) {
    CHECK(nanos >= 0);
    CHECK(nanos < kNever);
  }
}

}  // namespace
}  // namespace forebay::stream
