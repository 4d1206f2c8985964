#include "tests/unit/server/cache/simulation.h"

#include <algorithm>
#include <array>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "proto/job.pb.h"
#include "server/base/check.h"
#include "server/cache/cache.h"
#include "server/cache/extent.h"
#include "server/cache/next_use_registry.h"
#include "server/sampler/sampler.h"
#include "server/stream/epoch_next_use.h"
#include "server/stream/pace.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::cache {
namespace {

constexpr std::uint64_t kDataset = 1;
constexpr std::uint64_t kSampleBytes = 50'000;

// A request of one loader for a batch.
struct Step {
  std::int64_t at_nanos = 0;
  std::size_t loader = 0;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;
  std::vector<std::uint64_t> samples;
};

// The requests of all loaders, in order.
struct Trace {
  std::vector<Step> steps;
  std::size_t counted_from = 0;  // index of the first counted step
  std::size_t counted_to = 0;
};

sampler::Sampler SamplerOf(const Plan& plan, std::size_t loader) {
  proto::SamplerSpec spec;
  spec.set_order(proto::SamplerSpec::SHUFFLE);
  spec.set_seed(plan.loaders[loader].seed);
  return *sampler::Sampler::Create(spec, plan.samples);
}

// Returns the plan's trace. After the counted steps, the trace goes on for two
// epochs of the slowest loader, so that Belady's algorithm sees enough of the
// future.
Trace Record(const Plan& plan) {
  std::int64_t slowest = 0;
  for (const Plan::Loader& loader : plan.loaders) {
    slowest =
        std::max(slowest, loader.start_nanos +
                              loader.period_nanos *
                                  static_cast<std::int64_t>(plan.samples));
  }
  const auto epochs = static_cast<std::int64_t>(plan.epochs);
  Trace trace;
  for (std::size_t i = 0; i < plan.loaders.size(); ++i) {
    const sampler::Sampler sampler = SamplerOf(plan, i);
    std::int64_t now = plan.loaders[i].start_nanos;
    for (std::uint64_t epoch = 0; now < (3 + epochs) * slowest; ++epoch) {
      const sampler::EpochOrder order = sampler.Epoch(epoch);
      for (std::uint64_t at = 0; at < plan.samples; at += plan.batch_size) {
        Step step = {now, i, epoch, at, {}};
        const std::uint64_t end = std::min(at + plan.batch_size, plan.samples);
        for (std::uint64_t position = at; position < end; ++position) {
          step.samples.push_back(order.SampleAt(position));
        }
        now +=
            static_cast<std::int64_t>(end - at) * plan.loaders[i].period_nanos;
        trace.steps.push_back(std::move(step));
      }
    }
  }
  std::stable_sort(
      trace.steps.begin(), trace.steps.end(),
      [](const Step& a, const Step& b) { return a.at_nanos < b.at_nanos; });
  const auto step_at = [&](std::int64_t nanos) {
    return std::lower_bound(trace.steps.begin(), trace.steps.end(), nanos,
                            [](const Step& step, std::int64_t at) {
                              return step.at_nanos < at;
                            }) -
           trace.steps.begin();
  };
  trace.counted_from = step_at(slowest);
  trace.counted_to = step_at((1 + epochs) * slowest);
  return trace;
}

// Reads the trace up to the end of the counted steps, and calls `hit(sample,
// i)` for read number i of all. Returns hits / reads in the counted steps.
template <typename Hit>
double RatioOf(const Trace& trace, Hit hit) {
  std::uint64_t reads = 0;
  std::uint64_t hits = 0;
  std::uint64_t i = 0;
  for (std::size_t step = 0; step < trace.counted_to; ++step) {
    for (const std::uint64_t sample : trace.steps[step].samples) {
      const bool was_hit = hit(sample, i++);
      if (step < trace.counted_from) continue;
      ++reads;
      hits += was_hit ? 1 : 0;
    }
  }
  return static_cast<double>(hits) / static_cast<double>(reads);
}

double Clairvoyant(const Plan& plan, const Trace& trace, std::size_t entries) {
  std::vector<std::uint64_t> order;
  for (const Step& step : trace.steps) {
    order.insert(order.end(), step.samples.begin(), step.samples.end());
  }
  std::vector<std::uint64_t> next_use(order.size());
  std::vector<std::uint64_t> seen(plan.samples, UINT64_MAX);
  for (std::size_t i = order.size(); i-- > 0;) {
    next_use[i] = std::exchange(seen[order[i]], i);
  }
  std::set<std::pair<std::uint64_t, std::uint64_t>> kept;  // next use, sample
  return RatioOf(trace, [&](std::uint64_t sample, std::uint64_t i) {
    const bool hit = kept.erase({i, sample}) > 0;
    kept.insert({next_use[i], sample});
    if (kept.size() > entries) kept.erase(std::prev(kept.end()));
    return hit;
  });
}

double LeastRecentlyUsed(const Trace& trace, std::size_t entries) {
  std::list<std::uint64_t> kept;  // most recently used first
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> where;
  return RatioOf(trace, [&](std::uint64_t sample, std::uint64_t) {
    const auto found = where.find(sample);
    const bool hit = found != where.end();
    if (hit) kept.erase(found->second);
    kept.push_front(sample);
    where[sample] = kept.begin();
    if (kept.size() > entries) {
      where.erase(kept.back());
      kept.pop_back();
    }
    return hit;
  });
}

// A source that answers at once, with bytes of the right length that are the
// same for all reads.
class SimulatedSource final : public storage::ByteSource {
 public:
  void Read(absl::Span<storage::ReadRequest> requests) override {
    for (storage::ReadRequest& request : requests) {
      bytes_read_ += request.length;
      request.done(storage::ReadResult{base::Bytes(content_, *content_)});
    }
  }
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  const std::shared_ptr<const std::vector<std::uint8_t>> content_ =
      std::make_shared<const std::vector<std::uint8_t>>(kSampleBytes);
  std::uint64_t bytes_read_ = 0;
};

// A loader from the cache's side. It reads, and reports its pace and position
// as a stream does.
class SimulatedLoader {
 public:
  SimulatedLoader(const Plan& plan, std::size_t loader,
                  NextUseRegistry* next_use_registry)
      : sampler_(SamplerOf(plan, loader)),
        next_use_(
            std::make_shared<stream::EpochNextUse>(sampler_.dataset_size())),
        registration_(next_use_registry, kDataset, next_use_) {}

  void Take(const Step& step) {
    const std::int64_t now = step.at_nanos;
    if (samples_ > 0) pace_.Published(samples_, now);
    if (!samples_ || step.position == 0) {
      next_use_->Start(stream::EpochPair::Of(sampler_, step.epoch),
                       step.position, now);
    }
    samples_ = step.samples.size();
    next_use_->Advance(step.position + samples_, pace_.TimeOf(1), now);
  }

 private:
  const sampler::Sampler sampler_;
  const std::shared_ptr<stream::EpochNextUse> next_use_;
  const NextUseRegistry::Registration registration_;
  stream::Pace pace_;
  std::uint64_t samples_ = 0;
};

storage::ReadRequest RequestFor(std::uint64_t sample) {
  static const auto root =
      storage::FakeRoot::Make({.uri = "simulated", .identity = "simulated"});
  storage::ReadRequest request;
  request.root = root;
  // All names have the same length.
  request.object = std::to_string(10'000'000 + sample);
  request.version = {kSampleBytes, 1};
  request.length = kSampleBytes;
  request.sample = {kDataset, sample};
  request.done = [](const absl::StatusOr<storage::ReadResult>& result) {
    FOREBAY_CHECK(result.ok());
  };
  return request;
}

std::uint64_t HitsOf(const Cache& cache) {
  return cache.Snapshot().total.memory.reads;
}

}  // namespace

HitRatios Simulate(const Plan& plan) {
  const Trace trace = Record(plan);
  const auto entries = static_cast<std::size_t>(
      plan.fraction * static_cast<double>(plan.samples));
  HitRatios ratios;
  ratios.bytes = plan.samples * kSampleBytes;
  ratios.clairvoyant = Clairvoyant(plan, trace, entries);
  ratios.lru = LeastRecentlyUsed(trace, entries);

  SimulatedSource source;
  NextUseRegistry next_use_registry;
  base::FakeClock clock;
  const std::uint64_t capacity = entries * MemoryFor(RequestFor(0));
  base::MemoryBudget budget(capacity);
  const auto cache = *Cache::Create({.capacity = capacity, .seed = 1},
                                    {.below = &source,
                                     .budget = &budget,
                                     .next_use = &next_use_registry,
                                     .clock = &clock});
  std::vector<std::unique_ptr<SimulatedLoader>> loaders;
  for (std::size_t i = 0; i < plan.loaders.size(); ++i) {
    loaders.push_back(
        std::make_unique<SimulatedLoader>(plan, i, &next_use_registry));
  }
  std::uint64_t reads = 0;
  std::uint64_t hits_before = 0;
  for (std::size_t i = 0; i < trace.counted_to; ++i) {
    const Step& step = trace.steps[i];
    if (i == trace.counted_from) hits_before = HitsOf(*cache);
    if (i >= trace.counted_from) reads += step.samples.size();
    clock.Advance(step.at_nanos - clock.NowNanos());
    loaders[step.loader]->Take(step);
    std::vector<storage::ReadRequest> requests;
    for (const std::uint64_t sample : step.samples) {
      requests.push_back(RequestFor(sample));
    }
    cache->Read(absl::MakeSpan(requests));
  }
  ratios.ours = static_cast<double>(HitsOf(*cache) - hits_before) /
                static_cast<double>(reads);
  ratios.bytes_read = source.bytes_read();
  return ratios;
}

}  // namespace forebay::cache
