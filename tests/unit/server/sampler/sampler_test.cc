#include "server/sampler/sampler.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "proto/job.pb.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/sealed_numbers.h"

namespace forebay::sampler {
namespace {

using tests::HasCode;
using tests::IsOk;

proto::SamplerSpec Spec(proto::SamplerSpec::Order order,
                        proto::SamplerSpec::Pad pad, std::uint64_t seed,
                        std::uint32_t rank, std::uint32_t world_size) {
  proto::SamplerSpec spec;
  spec.set_order(order);
  spec.set_block_samples(7);
  spec.set_pad(pad);
  spec.set_seed(seed);
  spec.set_rank(rank);
  spec.set_world_size(world_size);
  return spec;
}

std::string Refusal(const proto::SamplerSpec& spec, std::uint64_t size) {
  const auto sampler = Sampler::Create(spec, size);
  CHECK_THAT(sampler, HasCode(absl::StatusCode::kInvalidArgument));
  return std::string(sampler.status().message());
}

TEST_CASE("A sampler with an unset spec is sequential and alone", "[sampler]") {
  const auto sampler = Sampler::Create({}, 5);
  REQUIRE_THAT(sampler, IsOk());
  REQUIRE(sampler->samples_per_epoch() == 5);
  for (std::uint64_t i = 0; i < 5; ++i) {
    CHECK(sampler->Epoch(7).SampleAt(i) == i);
    CHECK(sampler->Epoch(7).PositionOf(i) == i);
  }
}

// All ranks together get what the padding promises. Each rank finds its samples
// by their positions.
TEST_CASE("All ranks of a sampler together cover what their padding promises",
          "[sampler]") {
  const std::uint64_t generator_seed = 7;
  std::cout << "seed " << generator_seed << "\n";
  std::mt19937_64 random(generator_seed);
  for (int repeat = 0; repeat < 600; ++repeat) {
    const std::uint64_t size = 1 + random() % 300;
    const std::uint32_t world = 1 + random() % 20;
    const std::uint64_t seed = random();
    const std::uint64_t epoch = random() % 100;
    const auto pad = static_cast<proto::SamplerSpec::Pad>(1 + random() % 3);
    const auto order = static_cast<proto::SamplerSpec::Order>(1 + random() % 3);
    std::vector<int> seen(size);
    std::uint64_t total = 0;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      const auto sampler =
          Sampler::Create(Spec(order, pad, seed, rank, world), size);
      REQUIRE_THAT(sampler, IsOk());
      const EpochOrder epoch_order = sampler->Epoch(epoch);
      std::set<std::uint64_t> mine;
      for (std::uint64_t i = 0; i < sampler->samples_per_epoch(); ++i) {
        const std::uint64_t sample = sampler->Epoch(epoch).SampleAt(i);
        REQUIRE(sample < size);
        CHECK(epoch_order.SampleAt(i) == sample);
        if (mine.insert(sample).second) {
          CHECK(sampler->Epoch(epoch).PositionOf(sample) == i);
        }
        ++seen[sample];
        ++total;
      }
      for (std::uint64_t sample = 0; sample < size; ++sample) {
        CHECK(sampler->Epoch(epoch).PositionOf(sample).has_value() ==
              (mine.count(sample) == 1));
      }
    }
    const auto [least, most] = std::minmax_element(seen.begin(), seen.end());
    if (pad == proto::SamplerSpec::NONE) {
      CHECK(*least == 1);
      CHECK(*most == 1);
    } else if (pad == proto::SamplerSpec::DROP) {
      CHECK(*most <= 1);
      CHECK(total == size / world * world);
    } else {
      CHECK(*least >= 1);
      CHECK(*most - *least <= 1);
      CHECK(total == (size + world - 1) / world * world);
    }
  }
}

TEST_CASE("A sampler's shuffle is the same for all ranks", "[sampler]") {
  const auto alone = Sampler::Create(
      Spec(proto::SamplerSpec::SHUFFLE, proto::SamplerSpec::WRAP, 9, 0, 1),
      1001);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const auto one = Sampler::Create(
        Spec(proto::SamplerSpec::SHUFFLE, proto::SamplerSpec::WRAP, 9, rank, 4),
        1001);
    for (std::uint64_t i = 0; i < 250; ++i) {
      CHECK(one->Epoch(2).SampleAt(i) ==
            alone->Epoch(2).SampleAt(4 * i + rank));
    }
  }
}

TEST_CASE("A listed sampler's epoch is what its list says", "[sampler]") {
  base::MemoryBudget budget(1 << 20);
  // Settings other than the order and the seed have no effect.
  const auto sampler = *Sampler::Create(
      Spec(proto::SamplerSpec::LISTED, proto::SamplerSpec::DROP, 1, 2, 3), 10);
  CHECK(sampler.samples_per_epoch() == 0);
  CHECK(sampler.Epoch(0).samples() == 0);
  const EpochOrder order =
      sampler.Epoch(4, base::MakeList({9, 2, 9, 0, 9}, 10, &budget));
  CHECK(order.epoch() == 4);
  REQUIRE(order.samples() == 5);
  CHECK(order.SampleAt(2) == 9);
  CHECK(order.PositionOf(9) == 0);
  CHECK(order.PositionOf(9, 1) == 2);
  CHECK(order.PositionOf(9, 5) == std::nullopt);
  CHECK(order.PositionOf(7) == std::nullopt);
  CHECK(order.RepeatsBefore(4) == 2);
  CHECK(order.RepeatsBefore(1) == 0);
  // The next list is not known yet. Its samples count as half an epoch away,
  // the average.
  const EpochOrder next = sampler.After(order);
  CHECK(next.epoch() == 5);
  CHECK(next.samples() == 5);
  CHECK(next.PositionOf(7) == 2);
}

TEST_CASE("A sampler that needs a list takes nothing else", "[sampler]") {
  base::MemoryBudget budget(1 << 20);
  const auto list = base::MakeList({1}, 10, &budget);
  const auto listed = *Sampler::Create(
      Spec(proto::SamplerSpec::LISTED, proto::SamplerSpec::WRAP, 0, 0, 1), 10);
  const auto shuffled = *Sampler::Create(
      Spec(proto::SamplerSpec::SHUFFLE, proto::SamplerSpec::WRAP, 0, 0, 1), 10);
  CHECK_THAT(listed.CheckList(list.get()), IsOk());
  CHECK_THAT(shuffled.CheckList(nullptr), IsOk());
  CHECK(listed.CheckList(nullptr).message() ==
        "sampler: the order is listed, but no list came");
  CHECK(shuffled.CheckList(list.get()).message() ==
        "sampler: a list came, but the order is not listed");
}

TEST_CASE("A sampler refuses a spec that makes no sense", "[sampler]") {
  const auto order = proto::SamplerSpec::SHUFFLE;
  const auto pad = proto::SamplerSpec::NONE;
  CHECK(Refusal(Spec(order, pad, 0, 4, 4), 10) ==
        "sampler: rank 4 is not below world_size 4");
  CHECK(Refusal(Spec(order, pad, 0, 1, 0), 10) ==
        "sampler: rank 1 is not below world_size 1");
  CHECK(Refusal(Spec(order, pad, 0, 0, (1 << 20) + 1), 10) ==
        "sampler: world_size 1048577 is above 1048576");
  CHECK(Refusal(Spec(order, pad, 0, 0, 1), 0) ==
        "sampler: the dataset has no samples");
  CHECK_FALSE(Refusal(Spec(order, pad, 0, 0, 1),
                      std::numeric_limits<std::uint64_t>::max())
                  .empty());
  CHECK(Refusal(Spec(static_cast<proto::SamplerSpec::Order>(77), pad, 0, 0, 1),
                10) == "sampler: order 77 is not known");
  CHECK(Refusal(Spec(order, static_cast<proto::SamplerSpec::Pad>(-1), 0, 0, 1),
                10) == "sampler: pad -1 is not known");
}

}  // namespace
}  // namespace forebay::sampler
