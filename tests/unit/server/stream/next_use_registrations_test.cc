#include "server/stream/next_use_registrations.h"

#include <vector>

#include "proto/job.pb.h"
#include "server/cache/next_use.h"
#include "server/dataset/composed/concatenation.h"
#include "server/dataset/composed/subset.h"
#include "server/sample/sample_identity.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/base/sealed_numbers.h"
#include "tests/unit/server/dataset/composed/plain_dataset.h"

namespace forebay::stream {
namespace {

using dataset::Dataset;
using dataset::composed::Concatenation;
using dataset::composed::PlainDataset;
using dataset::composed::Subset;

constexpr std::int64_t kPeriod = 1000;

// Returns in how many nanoseconds each sample of `source` is wanted.
std::vector<std::int64_t> Ask(const cache::NextUseRegistry& next_use_registry,
                              const Dataset& source) {
  std::vector<storage::SampleRef> samples;
  for (std::uint64_t i = 0; i < source.size(); ++i) {
    samples.push_back({sample::DatasetNumber(source), i});
  }
  std::vector<std::int64_t> nanos(samples.size());
  next_use_registry.Ask(0, samples, absl::MakeSpan(nanos));
  return nanos;
}

TEST_CASE("A sample is wanted wherever it is part of a loader's dataset",
          "[stream][next_use_registrations]") {
  base::MemoryBudget budget(1 << 20);
  const auto a = std::make_shared<const PlainDataset>("a", 4);
  const auto b = std::make_shared<const PlainDataset>("b", 2);
  const auto some =
      std::make_shared<const Subset>(a, base::MakeList({3, 1, 3}, 4, &budget));
  // The concatenation has the samples a 3, a 1, a 3, b 0, b 1, a 3, a 1, a 3.
  const auto all = *Concatenation::Create({some, b, some});
  const auto next_use = std::make_shared<EpochNextUse>(all->size());
  cache::NextUseRegistry next_use_registry;
  const std::int64_t never = cache::kNever;
  {
    const NextUseRegistrations registrations(&next_use_registry, all, next_use);
    next_use->Start(
        EpochPair::Of(*sampler::Sampler::Create({}, all->size()), 0), 0, 0);
    next_use->Advance(1, kPeriod, 0);
    CHECK(Ask(next_use_registry, *a) ==
          std::vector<std::int64_t>{never, 0, never, 1 * kPeriod});
    CHECK(Ask(next_use_registry, *b) ==
          std::vector<std::int64_t>{2 * kPeriod, 3 * kPeriod});
    next_use->Advance(4, kPeriod, 0);
    CHECK(Ask(next_use_registry, *a) ==
          std::vector<std::int64_t>{never, 2 * kPeriod, never, 1 * kPeriod});
  }
  CHECK(Ask(next_use_registry, *a) == std::vector<std::int64_t>(4, never));
}

}  // namespace
}  // namespace forebay::stream
