// Tests a tier that is smaller than its dataset, read in shuffled epochs. For
// one loader, the hit ratio is near the stored part, which is optimal, and
// records are rarely rewritten. For two loaders, the hit ratio is much better
// than that of a tier that never replaces records, at the price of few
// rewrites.

#include <algorithm>
#include <latch>
#include <numeric>
#include <random>
#include <vector>

#include "server/cache/loader_next_use.h"
#include "server/cache/next_use_registry.h"
#include "tests/catch/catch.h"
#include "tests/catch/thread_checks.h"
#include "tests/unit/server/cache/disk/disk_house.h"

namespace forebay::cache::disk {
namespace {

constexpr std::uint64_t kSamples = 1'000;
constexpr std::size_t kBytes = 20'000;
constexpr std::size_t kBatch = 20;
constexpr std::uint64_t kEpochs = 6;
constexpr std::int64_t kPeriod = 1'000'000'000;  // nanoseconds for each sample
constexpr std::uint64_t kSegment = 64 * kPageBytes;

// The order of one loader: a sample in each period, for several epochs.
class Order final : public LoaderNextUse {
 public:
  explicit Order(std::uint32_t seed) {
    std::mt19937 random(seed);
    for (std::uint64_t epoch = 0; epoch <= kEpochs; ++epoch) {
      std::vector<std::uint64_t> order(kSamples);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      for (const std::uint64_t sample : order) {
        reads_of_[sample].push_back(static_cast<std::int64_t>(samples_.size()) *
                                    kPeriod);
        samples_.push_back(sample);
      }
    }
  }
  std::uint64_t At(std::uint64_t position) const { return samples_[position]; }

  void Lower(std::int64_t now_nanos, absl::Span<const std::uint64_t> samples,
             absl::Span<std::int64_t> nanos) const override {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto& reads = reads_of_[samples[i]];
      const auto next = std::upper_bound(reads.begin(), reads.end(), now_nanos);
      if (next == reads.end()) continue;
      nanos[i] = std::min(nanos[i], *next - now_nanos);
    }
  }

 private:
  std::vector<std::uint64_t> samples_;
  std::vector<std::vector<std::int64_t>> reads_of_ =
      std::vector<std::vector<std::int64_t>>(kSamples);
};

class DiskHitRatioTest {
 protected:
  struct Found {
    double hits = 0;     // hits / reads, after the first epoch
    double held = 0;     // stored entries / samples
    double written = 0;  // entries written / entries stored
    double again = 0;    // entries that were rewritten / first writes
  };

  // Runs the loaders with a tier that holds `fraction` of the samples.
  static Found Run(int loaders, double fraction) {
    const auto capacity =
        static_cast<std::uint64_t>(fraction * kSamples * kBytes);
    DiskHouse house(capacity, kSegment);
    house.Close();
    NextUseRegistry next_use_registry;
    std::vector<std::shared_ptr<const Order>> orders;
    std::vector<std::unique_ptr<NextUseRegistry::Registration>> registrations;
    for (int i = 0; i < loaders; ++i) {
      orders.push_back(std::make_shared<const Order>(i));
      registrations.push_back(std::make_unique<NextUseRegistry::Registration>(
          &next_use_registry, 1, orders.back()));
    }
    auto cache = *DiskCache::Create(
        {.store = {.capacity = capacity, .segment_bytes = kSegment, .seed = 1}},
        *CacheDirectory::Lock(house.path()),
        {.below = &house.memory(),
         .budget = &house.budget(),
         .next_use = &next_use_registry,
         .clock = &house.clock()});
    std::vector<storage::ObjectVersion> versions;
    for (std::uint64_t i = 0; i < kSamples; ++i) {
      versions.push_back(house.Put(std::to_string(i), kBytes));
    }
    DiskSnapshot begin;
    for (std::uint64_t at = 0; at < kEpochs * kSamples; at += kBatch) {
      if (at == kSamples) begin = cache->Snapshot();
      // Samples are read at the end of their batch's period.
      house.clock().Advance(kBatch * kPeriod);
      for (const auto& order : orders) {
        tests::ThreadChecks checks;
        std::latch done(kBatch);
        std::vector<storage::ReadRequest> requests;
        for (std::size_t i = 0; i < kBatch; ++i) {
          const std::uint64_t sample = order->At(at + i);
          requests.push_back(
              house.Request(std::to_string(sample), versions[sample]));
          requests.back().sample = {1, sample};
          requests.back().done =
              [&](const absl::StatusOr<storage::ReadResult>& result) {
                checks.CheckOk(result.status());
                done.count_down();
              };
        }
        cache->Read(absl::MakeSpan(requests));
        done.wait();
        while (cache->Snapshot().waiting > 0) std::this_thread::yield();
      }
    }
    const DiskSnapshot end = cache->Snapshot();
    const auto reads = static_cast<double>((kEpochs - 1) * kSamples * loaders);
    const auto entries = static_cast<double>(end.entries);
    const auto written = static_cast<double>(end.written.reads);
    const auto carried = static_cast<double>(end.carried.reads);
    return {static_cast<double>(end.hits.reads - begin.hits.reads) / reads,
            entries / kSamples, written / entries,
            carried / (written - carried)};
  }
};

TEST_CASE_METHOD(DiskHitRatioTest,
                 "A lone loader hits about the fraction of samples that the "
                 "disk tier stores",
                 "[disk][disk_hit_ratio]") {
  const Found found = Run(1, 0.5);
  CAPTURE(found.hits);
  CHECK(found.held > 0.4);
  CAPTURE(found.held);
  CHECK(found.hits > 0.9 * found.held);
  CHECK(found.written < 3);
}

TEST_CASE_METHOD(
    DiskHitRatioTest,
    "Two loaders hit the disk tier more often than the fraction that it stores",
    "[disk][disk_hit_ratio]") {
  const Found found = Run(2, 0.5);
  CAPTURE(found.hits);
  CAPTURE(found.written);
  CHECK(found.hits > found.held + 0.08);
  CHECK(found.again < 0.5);
}

TEST_CASE_METHOD(DiskHitRatioTest,
                 "A smaller disk tier gains more hits from eviction",
                 "[disk][disk_hit_ratio]") {
  const Found found = Run(2, 0.25);
  CAPTURE(found.hits);
  CAPTURE(found.held);
  CAPTURE(found.again);
  CAPTURE(found.written);
  CHECK(found.hits > found.held + 0.12);
  CHECK(found.again < 0.5);
}

}  // namespace
}  // namespace forebay::cache::disk
