// Simulates reads of a dataset that is shuffled in blocks, from the order down
// to the source. Counts requests, and bytes that are read in vain, with caches
// of several sizes.

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proto/job.pb.h"
#include "server/base/clock.h"
#include "server/base/memory_budget.h"
#include "server/cache/cache.h"
#include "server/cache/next_use_registry.h"
#include "server/sampler/sampler.h"
#include "server/storage/coalesced_source.h"
#include "server/stream/block_read_ahead_hints.h"
#include "server/stream/epoch_next_use.h"
#include "tests/catch/catch.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/dataset/fake_dataset.h"

namespace forebay::stream {
namespace {

// The dataset's number in sample references.
constexpr std::uint64_t kDataset = 5;
constexpr std::uint64_t kSamples = 3200;
constexpr std::uint64_t kSampleBytes = 5000;
// Bytes from one sample to the next; a gap follows each sample.
constexpr std::uint64_t kStride = 6000;
constexpr std::uint64_t kBlock = 20;
constexpr std::uint64_t kGroup = 32 * kBlock;  // in samples
constexpr std::uint64_t kBatch = 50;
constexpr std::int64_t kPeriodNanos = 1'000'000;

// A dataset of samples that lie one after the other in one shard.
class Shard final : public dataset::FakeDataset {
 public:
  explicit Shard(storage::MemorySource* memory)
      : FakeDataset(
            {.size = kSamples,
             .fields = {{"bytes", proto::FieldKind::kBytes, kSampleBytes}},
             .largest_sample = kSampleBytes,
             .root = memory->root()}),
        content_(Content()),
        stored_(memory->Put("shard", content_)) {}

  dataset::Sample At(std::uint64_t id) const override {
    return {.object = "shard",
            .version = stored_,
            .layout = nullptr,
            .offset = id * kStride,
            .length = kSampleBytes};
  }
  void ValuesOf(std::uint64_t,
                absl::Span<dataset::FieldValue> values) const override {
    values[0] = dataset::FieldRange{0, kSampleBytes};
  }

  bool IsSample(std::uint64_t id, const base::Bytes& bytes) const {
    const std::string text(reinterpret_cast<const char*>(bytes.data()),
                           bytes.size());
    return text == content_.substr(id * kStride, kSampleBytes);
  }

 private:
  static std::string Content() {
    std::string content(kSamples * kStride, '\0');
    for (std::size_t i = 0; i < content.size(); ++i) {
      content[i] = static_cast<char>(i / 100 * 7 + i);
    }
    return content;
  }

  const std::string content_;
  const storage::ObjectVersion stored_;
};

// A source that counts requests and their bytes.
class CountingSource final : public storage::ByteSource {
 public:
  explicit CountingSource(storage::ByteSource* inner) : inner_(inner) {}

  void Read(absl::Span<storage::ReadRequest> requests) override {
    for (const storage::ReadRequest& request : requests) {
      ++requests_;
      bytes_ += request.length;
    }
    inner_->Read(requests);
  }
  std::uint64_t requests() const { return requests_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  storage::ByteSource* const inner_;
  std::uint64_t requests_ = 0;
  std::uint64_t bytes_ = 0;
};

// A rank of several, which makes reads as a stream does.
class Rank {
 public:
  Rank(std::uint32_t rank, std::uint32_t world_size, const Shard& shard,
       cache::NextUseRegistry* next_use_registry)
      : shard_(&shard),
        sampler_(Make(rank, world_size)),
        next_use_(std::make_shared<EpochNextUse>(sampler_.dataset_size())),
        registration_(next_use_registry, kDataset, next_use_) {}

  void Start(std::uint64_t epoch, const std::shared_ptr<const Shard>& shard,
             std::int64_t now) {
    order_ = std::make_shared<const sampler::EpochOrder>(sampler_.Epoch(epoch));
    read_ahead_hints_ =
        std::make_shared<const BlockReadAheadHints>(shard, kDataset, *order_);
    position_ = 0;
    next_use_->Start(EpochPair::Of(sampler_, epoch), 0, now);
  }
  // Reads the next batch. Returns false when the epoch is over.
  bool Step(cache::Cache& cache, std::int64_t now, int* good) {
    const std::uint64_t left = sampler_.samples_per_epoch() - position_;
    std::vector<storage::ReadRequest> requests;
    for (std::uint64_t i = 0; i < std::min(left, kBatch); ++i, ++position_) {
      requests.push_back(RequestFor(order_->SampleAt(position_), good));
    }
    next_use_->Advance(position_, kPeriodNanos, now);
    cache.Read(absl::MakeSpan(requests));
    return position_ < sampler_.samples_per_epoch();
  }

 private:
  static sampler::Sampler Make(std::uint32_t rank, std::uint32_t world_size) {
    proto::SamplerSpec spec;
    spec.set_order(proto::SamplerSpec::BLOCK_SHUFFLE);
    spec.set_block_samples(kBlock);
    spec.set_rank(rank);
    spec.set_world_size(world_size);
    return *sampler::Sampler::Create(spec, kSamples);
  }
  storage::ReadRequest RequestFor(std::uint64_t id, int* good) const {
    const dataset::Sample sample = shard_->At(id);
    storage::ReadRequest request;
    request.root = shard_->root();
    request.object = sample.object;
    request.version = sample.version;
    request.offset = sample.offset;
    request.length = sample.length;
    request.sample = {kDataset, id};
    request.read_ahead_hints = read_ahead_hints_;
    request.neighbours_due = order_->DueAt(position_).has_value();
    request.done = [shard = shard_, id,
                    good](const absl::StatusOr<storage::ReadResult>& result) {
      if (result.ok() && shard->IsSample(id, result->bytes)) ++*good;
    };
    return request;
  }

  const Shard* const shard_;
  const sampler::Sampler sampler_;
  const std::shared_ptr<EpochNextUse> next_use_;
  const cache::NextUseRegistry::Registration registration_;
  std::shared_ptr<const sampler::EpochOrder> order_;
  std::shared_ptr<const BlockReadAheadHints> read_ahead_hints_;
  std::uint64_t position_ = 0;
};

struct Outcome {
  double requests = 0;  // requests to the source, for each sample
  double bytes = 0;     // bytes of these requests / bytes of all samples
  double reads = 0;     // reads of the cache, for each sample
};

// Reads two epochs with a cache that has memory for `groups` groups. The ranks
// below `here` are on this host, and all others elsewhere.
Outcome Simulate(double groups, std::uint32_t world_size, std::uint32_t here) {
  constexpr std::uint64_t kEpochs = 2;
  base::FakeClock clock;
  cache::NextUseRegistry next_use_registry;
  storage::MemorySource memory;
  const auto shard = std::make_shared<const Shard>(&memory);
  CountingSource counting(&memory);
  const auto capacity = static_cast<std::uint64_t>(
      groups * kGroup * (storage::HeldBytes(kSampleBytes) + 600));
  base::MemoryBudget budget(capacity + (std::uint64_t{64} << 20));
  const auto coalesced = *storage::CoalescedSource::Create(&counting, &budget);
  const auto cache = *cache::Cache::Create({.capacity = capacity, .seed = 1},
                                           {.below = coalesced.get(),
                                            .budget = &budget,
                                            .next_use = &next_use_registry,
                                            .clock = &clock});
  std::vector<std::unique_ptr<Rank>> ranks;
  for (std::uint32_t i = 0; i < here; ++i) {
    ranks.push_back(
        std::make_unique<Rank>(i, world_size, *shard, &next_use_registry));
  }
  int good = 0;
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (const auto& rank : ranks) rank->Start(epoch, shard, clock.NowNanos());
    for (bool going = true; going;) {
      for (const auto& rank : ranks) {
        going = rank->Step(*cache, clock.NowNanos(), &good);
      }
      clock.Advance(kBatch * kPeriodNanos);
    }
  }
  const double samples =
      static_cast<double>(kEpochs * kSamples) * here / world_size;
  CHECK(good == samples);
  const Outcome outcome = {
      .requests = static_cast<double>(counting.requests()) / samples,
      .bytes = static_cast<double>(counting.bytes()) / (samples * kSampleBytes),
      .reads =
          static_cast<double>(cache->Snapshot().total.source.reads) / samples};
  std::cout << "room for " << groups << " groups, " << here << " of "
            << world_size << " ranks: " << outcome.requests
            << " requests a sample, " << outcome.bytes
            << " bytes for each that is wanted, " << outcome.reads
            << " reads of each sample\n";
  return outcome;
}

// The gaps between samples, which are read with them, add a fifth to their
// bytes.
constexpr double kWithGaps = 1.0 * kStride / kSampleBytes;

TEST_CASE("Blocks are read as a whole where the cache has room",
          "[stream][block_reads]") {
  for (const double groups : {1.2, 2.0}) {
    const Outcome outcome = Simulate(groups, 1, 1);
    CHECK(outcome.requests < 2.5 / kBlock);
    CHECK(outcome.bytes <= kWithGaps);
    CHECK(outcome.reads <= 1);
  }
}

TEST_CASE("Nothing of a block is read twice where the cache has no room",
          "[stream][block_reads]") {
  for (const double groups : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    const Outcome outcome = Simulate(groups, 1, 1);
    CHECK(outcome.requests <= 1 - groups / 2);
    CHECK(outcome.bytes <= kWithGaps);
    CHECK(outcome.reads <= 1.01);
  }
}

TEST_CASE("Ranks of one host read blocks for each other",
          "[stream][block_reads]") {
  const Outcome outcome = Simulate(2, 4, 4);
  CHECK(outcome.requests < 2.5 / kBlock);
  CHECK(outcome.bytes <= kWithGaps);
  CHECK(outcome.reads <= 1);
}

TEST_CASE("What only other hosts want of a block is not read",
          "[stream][block_reads]") {
  const Outcome outcome = Simulate(2, 4, 1);
  CHECK(outcome.requests <= 1);
  CHECK(outcome.bytes <= kWithGaps);
  CHECK(outcome.reads <= 1);
}

}  // namespace
}  // namespace forebay::stream
