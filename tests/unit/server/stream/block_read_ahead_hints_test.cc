#include "server/stream/block_read_ahead_hints.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "proto/job.pb.h"
#include "server/sampler/sampler.h"
#include "server/slots/channel.h"
#include "server/stream/in_flight_batches.h"
#include "server/stream/member.h"
#include "server/stream/read_request_builder.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

constexpr std::uint64_t kNumber = 5;

sampler::Sampler Blocks(std::uint64_t size, std::uint64_t block,
                        std::uint32_t rank = 0, std::uint32_t world_size = 1) {
  proto::SamplerSpec spec;
  spec.set_order(proto::SamplerSpec::BLOCK_SHUFFLE);
  spec.set_block_samples(block);
  spec.set_seed(7);
  spec.set_rank(rank);
  spec.set_world_size(world_size);
  return *sampler::Sampler::Create(spec, size);
}

std::set<std::uint64_t> IdsOf(const std::vector<storage::ReadAheadHint>& list) {
  std::set<std::uint64_t> ids;
  for (const storage::ReadAheadHint& each : list)
    ids.insert(each.sample.sample);
  CHECK(ids.size() == list.size());
  return ids;
}

// A sample's hints list those samples of its block that this rank has not read
// yet. They also tell how much later this rank reads each one.
TEST_CASE("The neighbours of a sample are the rest of its block",
          "[stream][block_read_ahead_hints]") {
  constexpr std::uint32_t kSeed = 20261122;
  std::cout << "seed " << kSeed << "\n";
  std::mt19937 random(kSeed);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const std::uint64_t size = 1 + random() % 300;
    const std::uint64_t block = 1 + random() % 20;
    const std::uint32_t world = 1 + random() % 4;
    const std::uint32_t rank = random() % world;
    const sampler::EpochOrder order =
        Blocks(size, block, rank, world).Epoch(random() % 5);
    const auto dataset = std::make_shared<NumberedDataset>(size);
    const BlockReadAheadHints found(dataset, kNumber, order);
    CHECK(found.epoch() == order.epoch());
    for (std::uint64_t id = 0; id < size; ++id) {
      const auto position = order.PositionOf(id);
      const auto list = found.NeighboursOf(id);
      if (!position.has_value()) {
        CHECK(list.empty());
        continue;
      }
      std::set<std::uint64_t> expected;
      for (std::uint64_t other = 0; other < size; ++other) {
        if (other / block != id / block) continue;
        CHECK(found.NumberOf(other) == found.NumberOf(id));
        const auto seen_at = order.PositionOf(other);
        if (!seen_at.has_value() || *seen_at > *position)
          expected.insert(other);
      }
      CHECK(IdsOf(list) == expected);
      for (const storage::ReadAheadHint& each : list) {
        const auto seen_at = order.PositionOf(each.sample.sample);
        CHECK(each.distance ==
              (seen_at.has_value() ? *seen_at - *position : 0));
        CHECK(each.sample.dataset == kNumber);
        CHECK(each.object == dataset->At(each.sample.sample).object);
        CHECK(each.length == 100);
      }
    }
  }
}

// All ranks together get hints about every block except those of the first
// group.
TEST_CASE("Later blocks are due for read-ahead in time",
          "[stream][block_read_ahead_hints]") {
  constexpr std::uint64_t kSize = 3000;
  constexpr std::uint64_t kBlock = 20;
  for (const std::uint32_t world : {1U, 4U}) {
    std::set<std::uint64_t> told;
    std::set<std::uint64_t> first_group;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      const sampler::EpochOrder order =
          Blocks(kSize, kBlock, rank, world).Epoch(1);
      const BlockReadAheadHints found(std::make_shared<NumberedDataset>(kSize),
                                      kNumber, order);
      std::set<std::uint64_t> own = {};
      for (std::uint64_t position = 0; position < kSize / world; ++position) {
        const std::uint64_t id = order.SampleAt(position);
        const std::set<std::uint64_t> due = IdsOf(found.DueBy(id));
        CHECK(due.empty() == !order.DueAt(position).has_value());
        for (const std::uint64_t each : due) {
          CHECK(own.insert(each).second);
          CHECK(order.PositionOf(each).value_or(position + 1) > position);
        }
        if (position * world < 32 * kBlock - kBlock) {
          first_group.insert(id / kBlock);
        }
      }
      told.insert(own.begin(), own.end());
    }
    std::set<std::uint64_t> blocks;
    for (const std::uint64_t id : told) blocks.insert(id / kBlock);
    CHECK(blocks.size() + first_group.size() == kSize / kBlock);
  }
}

TEST_CASE("Read-ahead hints list huge blocks in parts",
          "[stream][block_read_ahead_hints]") {
  constexpr std::uint64_t kSize = 10'000;
  const sampler::EpochOrder order = Blocks(kSize, kSize).Epoch(0);
  const BlockReadAheadHints found(std::make_shared<NumberedDataset>(kSize),
                                  kNumber, order);
  const std::uint64_t first = order.SampleAt(0);
  const auto list = found.NeighboursOf(first);
  CHECK(list.size() <= BlockReadAheadHints::kMax);
  for (const storage::ReadAheadHint& each : list) {
    CHECK(found.NumberOf(each.sample.sample) == found.NumberOf(first));
  }
}

class ReadRequestBuilderTest {
 protected:
  std::vector<storage::ReadRequest> RequestsOf(const StreamSpec& stream_spec) {
    ReadRequestBuilder builder(&stream_spec, variant_);
    const auto channel = *slots::Channel::Create();
    const Member payer(1, channel.get(), {.flow = 1, .slots = 1},
                       stream_spec.batch, {nullptr, stream_spec.dataset});
    InFlightBatches in_flight(stream_spec.batch, 0,
                              stream_spec.dataset->size());
    const auto epochs = EpochPair::Of(stream_spec.sampler, 3);
    in_flight.Begin({3, 0}, std::min<std::uint64_t>(epochs->samples(), 10),
                    epochs, payer.id(), 0, nullptr);
    std::vector<storage::ReadRequest> requests;
    while (PendingSample* const pending = in_flight.Next(/*capped=*/true)) {
      if (substituted_ == requests.size())
        pending->id = (pending->id + 1) % 100;
      requests.push_back(builder.RequestFor(pending, payer));
      again_.emplace_back(builder.RequestAgain(*pending, payer));
    }
    return requests;
  }

  storage::Variant variant_ = storage::kEncoded;
  std::size_t substituted_ = SIZE_MAX;
  std::vector<std::optional<storage::ReadRequest>> again_;
};

TEST_CASE_METHOD(ReadRequestBuilderTest,
                 "A read request that is made again takes the same variant",
                 "[stream][block_read_ahead_hints]") {
  variant_ = 7;
  const auto requests = RequestsOf(FakeStreamSpec(100, 10));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    CHECK(again_[i]->object == requests[i].object);
    CHECK(again_[i]->variant == 7);
  }
}

TEST_CASE_METHOD(
    ReadRequestBuilderTest,
    "Reads of block shuffles have read-ahead hints of their neighbours",
    "[stream][block_read_ahead_hints]") {
  substituted_ = 4;
  const auto requests =
      RequestsOf(FakeStreamSpec(100, 10, [](proto::LoaderSpec& spec) {
        spec.mutable_sampler()->set_order(proto::SamplerSpec::BLOCK_SHUFFLE);
        spec.mutable_sampler()->set_block_samples(2);
      }));
  REQUIRE(requests.size() == 10);
  int due = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    CHECK((requests[i].read_ahead_hints != nullptr) == (i != 4));
    if (i != 4) {
      CHECK(requests[i].read_ahead_hints == requests[0].read_ahead_hints);
      CHECK(!requests[i]
                 .read_ahead_hints->DueBy(requests[i].sample.sample)
                 .empty() == requests[i].neighbours_due);
    }
    due += requests[i].neighbours_due ? 1 : 0;
  }
  // Every second sample has neighbours that are due, except the substituted
  // sample.
  CHECK(due == 4);
}

TEST_CASE_METHOD(
    ReadRequestBuilderTest,
    "Reads of other orders than block shuffles have no read-ahead hints",
    "[stream][block_read_ahead_hints]") {
  for (const storage::ReadRequest& request :
       RequestsOf(FakeStreamSpec(100, 10))) {
    CHECK(request.read_ahead_hints == nullptr);
    CHECK_FALSE(request.neighbours_due);
  }
}

// After the end of an epoch, padding repeats the first samples. By then, their
// neighbours have passed.
TEST_CASE_METHOD(ReadRequestBuilderTest,
                 "Reads of padding have no neighbours that come after them",
                 "[stream][block_read_ahead_hints]") {
  const auto requests =
      RequestsOf(FakeStreamSpec(7, 10, [](proto::LoaderSpec& spec) {
        spec.mutable_sampler()->set_order(proto::SamplerSpec::BLOCK_SHUFFLE);
        spec.mutable_sampler()->set_block_samples(2);
        spec.mutable_sampler()->set_rank(3);
        spec.mutable_sampler()->set_world_size(4);
      }));
  REQUIRE(requests.size() == 2);
  CHECK_FALSE(requests[1].neighbours_due);
  for (const storage::ReadAheadHint& each :
       requests[1].read_ahead_hints->NeighboursOf(requests[1].sample.sample)) {
    CHECK(each.distance == 0);
  }
}

}  // namespace
}  // namespace forebay::stream
