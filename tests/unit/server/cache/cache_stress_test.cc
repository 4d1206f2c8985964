// Runs many threads on a small cache over real storage threads. This is mainly
// a test for ThreadSanitizer.

#include <atomic>
#include <latch>
#include <random>
#include <thread>
#include <vector>

#include "proto/job.pb.h"
#include "server/cache/cache.h"
#include "server/cache/extent.h"
#include "server/cache/next_use_registry.h"
#include "server/storage/local/local_root.h"
#include "server/storage/local/local_source.h"
#include "server/stream/epoch_next_use.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::cache {
namespace {

constexpr int kObjects = 60;
constexpr int kThreads = 4;
constexpr int kBatches = 60;
constexpr int kBatch = 16;

TEST_CASE("The cache serves many threads in little memory",
          "[cache][cache_stress]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  const storage::local::ScratchDir scratch;
  const auto root =
      *storage::local::LocalRoot::Create(scratch.Open(), scratch.Path());
  std::vector<storage::ReadRequest> objects(kObjects);
  std::uint64_t all = 0;
  for (int i = 0; i < kObjects; ++i) {
    storage::ReadRequest& request = objects[i];
    request.root = root;
    request.object = std::to_string(i);
    request.length = 1'000 + 200 * i;
    scratch.Write(request.object,
                  std::string(request.length, static_cast<char>(i)));
    request.version = root->Stat(request.object)->version();
    request.sample = {1, static_cast<std::uint64_t>(i)};
    all += MemoryFor(request);
  }
  proto::SamplerSpec spec;
  const auto sampler = *sampler::Sampler::Create(spec, kObjects);
  const auto next_use = std::make_shared<stream::EpochNextUse>(kObjects);
  NextUseRegistry next_use_registry;
  base::MemoryBudget budget(all / 2);
  storage::local::LocalSource source;
  {
    const auto cache = *Cache::Create({.capacity = all / 2, .seed = seed},
                                      {.below = &source,
                                       .budget = &budget,
                                       .next_use = &next_use_registry,
                                       .clock = base::Clock::Monotonic()});
    std::atomic<int> wrong = 0;
    std::latch done(kThreads * kBatches * kBatch);
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        std::mt19937 random(seed + thread);
        const NextUseRegistry::Registration registration(&next_use_registry, 1,
                                                         next_use);
        for (int batch = 0; batch < kBatches; ++batch) {
          next_use->Start(stream::EpochPair::Of(sampler, batch), 0, batch);
          std::vector<storage::ReadRequest> requests;
          for (int i = 0; i < kBatch; ++i) {
            const auto object = static_cast<int>(random() % kObjects);
            requests.push_back(objects[object]);
            requests.back().purpose.job = thread;
            requests.back().purpose.urgency = random() % 3;
            requests.back().done =
                [&, object](const absl::StatusOr<storage::ReadResult>& result) {
                  if (!result.ok() ||
                      result->bytes.size() != objects[object].length ||
                      result->bytes.data()[result->bytes.size() - 1] !=
                          object) {
                    ++wrong;
                  }
                  done.count_down();
                };
          }
          cache->Read(absl::MakeSpan(requests));
          if (cache->Snapshot().used > all / 2) ++wrong;
          if (batch % 16 == 0) cache->Forget(thread);
        }
      });
    }
    done.wait();
    threads.clear();
    CHECK(wrong == 0);
    const CacheSnapshot snapshot = cache->Snapshot();
    CHECK(snapshot.total.memory.reads + snapshot.total.shared.reads +
              snapshot.total.source.reads ==
          kThreads * kBatches * kBatch);
  }
  CHECK(budget.used() == 0);
}

}  // namespace
}  // namespace forebay::cache
