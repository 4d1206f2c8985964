// Compares the cache with a simple model on random reads. The cache and the
// model cache the same samples, bytes are right, and memory stays within its
// bounds.

#include <map>
#include <random>
#include <vector>

#include "server/cache/extent.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/cache/cache_house.h"

namespace forebay::cache {
namespace {

constexpr std::uint64_t kSamples = 40;
constexpr std::uint64_t kBytes = 1'000;

std::string NameOf(std::uint64_t sample) {
  // All names have the same length.
  return "sample" + std::to_string(10 + sample);
}

// A random order of reads, which is fully known in advance.
class Future {
 public:
  Future(std::mt19937* random, std::size_t reads) {
    for (std::size_t i = 0; i < reads; ++i) {
      // Some samples are read far more often than others.
      reads_.push_back(
          std::min((*random)() % kSamples, (*random)() % kSamples));
    }
  }
  const std::vector<std::uint64_t>& reads() const { return reads_; }
  // Returns the index of the first read of `sample` after the read `now`.
  std::int64_t NextUse(std::uint64_t sample, std::size_t now) const {
    for (std::size_t i = now + 1; i < reads_.size(); ++i) {
      if (reads_[i] == sample) return static_cast<std::int64_t>(i);
    }
    return kNever;
  }

 private:
  std::vector<std::uint64_t> reads_;
};

// Belady's algorithm with bypass. Among samples that are never wanted again, it
// evicts the least recently used one. It evicts none for another sample that is
// never wanted again.
class Model {
 public:
  explicit Model(std::size_t capacity) : capacity_(capacity) {}

  // Returns whether the read was a hit.
  bool Read(std::uint64_t sample, std::size_t now, const Future& future) {
    const bool hit = used_at_.contains(sample);
    if (!hit && used_at_.size() == capacity_) {
      auto last = used_at_.begin();
      for (auto it = used_at_.begin(); it != used_at_.end(); ++it) {
        const auto wanted = future.NextUse(it->first, now);
        const auto lasts = future.NextUse(last->first, now);
        if (wanted > lasts || (wanted == lasts && it->second < last->second)) {
          last = it;
        }
      }
      if (future.NextUse(sample, now) >= future.NextUse(last->first, now)) {
        return false;
      }
      used_at_.erase(last);
    }
    used_at_[sample] = now;
    return hit;
  }

 private:
  const std::size_t capacity_;
  std::map<std::uint64_t, std::size_t> used_at_;
};

TEST_CASE("The cache keeps what is wanted first", "[cache][cache_model]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    const std::size_t capacity = 1 + random() % kSamples;
    storage::ReadRequest any;
    any.object = NameOf(0);
    any.length = kBytes;
    CacheHouse house(capacity * MemoryFor(any));
    std::vector<storage::ObjectVersion> versions;
    for (std::uint64_t i = 0; i < kSamples; ++i) {
      versions.push_back(house.memory().Put(
          NameOf(i), std::string(kBytes, static_cast<char>('0' + i))));
    }
    const Future future(&random, 400);
    Model model(capacity);
    std::map<std::uint64_t, int> misses;
    for (std::size_t now = 0; now < future.reads().size(); ++now) {
      const std::uint64_t sample = future.reads()[now];
      for (std::uint64_t i = 0; i < kSamples; ++i) {
        house.next_use().Want(i, future.NextUse(i, now));
      }
      auto request = house.Request(NameOf(sample), versions[sample]);
      request.sample = {1, sample};
      REQUIRE(house.Text(request) ==
              std::string(kBytes, static_cast<char>('0' + sample)));
      if (!model.Read(sample, now, future)) ++misses[sample];
      UNSCOPED_INFO("capacity " << capacity << ", read " << now);
      REQUIRE(house.below().times(NameOf(sample)) == misses[sample]);
      REQUIRE(house.cache().Snapshot().used <=
              house.cache().Snapshot().capacity);
      house.clock().Advance(1);
    }
  }
}

// A source that counts those of its bytes that still exist.
class CountedSource final : public storage::ByteSource {
 public:
  void Read(absl::Span<storage::ReadRequest> requests) override {
    for (storage::ReadRequest& request : requests) {
      pending_.push_back(std::move(request));
    }
  }
  std::size_t pending() const { return pending_.size(); }
  // Answers one pending read.
  void Answer(std::size_t which, bool ok) {
    const storage::ReadRequest request = std::move(pending_[which]);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(which));
    if (!ok) {
      request.done(absl::UnavailableError("scripted"));
      return;
    }
    *live_ += request.length;
    auto* content = new std::string(request.length, request.object[0]);
    const std::shared_ptr<const std::string> owner(
        content, [live = live_](const std::string* gone) {
          *live -= gone->size();
          delete gone;
        });
    request.done(storage::ReadResult{base::Bytes(
        owner, {reinterpret_cast<const std::uint8_t*>(owner->data()),
                owner->size()})});
  }
  std::uint64_t live() const { return *live_; }

 private:
  std::vector<storage::ReadRequest> pending_;
  const std::shared_ptr<std::uint64_t> live_ =
      std::make_shared<std::uint64_t>(0);
};

TEST_CASE("The cache stays within its memory whatever is held or fails",
          "[cache][cache_model]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const storage::MemorySource roots;
  const ScriptedNextUse next_use;
  base::FakeClock clock;
  constexpr std::uint64_t kCapacity = 400'000;
  base::MemoryBudget budget(kCapacity);
  CountedSource source;
  auto cache =
      *Cache::Create({.capacity = kCapacity, .seed = 1}, {.below = &source,
                                                          .budget = &budget,
                                                          .next_use = &next_use,
                                                          .clock = &clock});
  std::vector<base::Bytes> cached;
  int asked = 0;
  int answered = 0;
  int wrong = 0;
  const auto read = [&] {
    storage::ReadRequest request;
    request.root = roots.root();
    const char name = static_cast<char>('A' + random() % 26);
    request.object = name;
    request.version.size = request.length = std::uint64_t(name) * 500;
    request.purpose.next_use_nanos = static_cast<std::int64_t>(random() % 99);
    request.done = [&, name](absl::StatusOr<storage::ReadResult> result) {
      ++answered;
      if (!result.ok()) return;
      const std::size_t size = result->bytes.size();
      wrong +=
          size != std::size_t(name) * 500 ||
          result->bytes.data()[size / 2] != static_cast<std::uint8_t>(name);
      if (random() % 2 == 0) cached.push_back(std::move(result->bytes));
    };
    ++asked;
    cache->Read({&request, 1});
  };
  for (int i = 0; i < 20'000; ++i) {
    clock.Advance(static_cast<std::int64_t>(random() % 10));
    const auto dice = random() % 8;
    if (dice < 4 && source.pending() < 10) read();
    if (dice == 4 && !cached.empty()) {
      cached.erase(cached.begin() +
                   static_cast<std::ptrdiff_t>(random() % cached.size()));
    }
    if (dice > 4 && source.pending() > 0) {
      source.Answer(random() % source.pending(), random() % 10 != 0);
    }
    while (cached.size() > 8) cached.pop_back();
    REQUIRE(cache->Snapshot().used <= kCapacity);
    // The test itself holds bytes that bypassed the cache.
    std::uint64_t metadata = 0;
    for (const base::Bytes& bytes : cached) metadata += bytes.size();
    REQUIRE(source.live() <= kCapacity + metadata);
  }
  while (source.pending() > 0) source.Answer(0, true);
  CHECK(answered == asked);
  CHECK(wrong == 0);
  const CacheSnapshot snapshot = cache->Snapshot();
  CHECK(snapshot.reads_in_flight == 0);
  CHECK(snapshot.evicted.reads > 100);
  CHECK(snapshot.total.memory.reads > 100);
  CHECK(snapshot.total.shared.reads > 100);
  CHECK(snapshot.failures > 100);
  cached.clear();
  CHECK(cache->Snapshot().used == cache->Snapshot().entry_bytes);
  cache = nullptr;
  CHECK(source.live() == 0);
  CHECK(budget.used() == 0);
}

}  // namespace
}  // namespace forebay::cache
