#ifndef FOREBAY_TESTS_UNIT_SERVER_CACHE_CACHE_HOUSE_H_
#define FOREBAY_TESTS_UNIT_SERVER_CACHE_CACHE_HOUSE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/base/clock.h"
#include "server/base/memory_budget.h"
#include "server/cache/cache.h"
#include "tests/conformance/storage/faulty_source.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/cache/recording_source.h"

namespace forebay::cache {

// A NextUse whose answers the test sets, before other threads ask. Samples
// without an answer are unknown.
class ScriptedNextUse final : public NextUse {
 public:
  void Want(std::uint64_t sample, std::int64_t at_nanos) {
    at_nanos_[sample] = at_nanos;
  }
  void Ask(std::int64_t now_nanos, absl::Span<const storage::SampleRef> samples,
           absl::Span<std::int64_t> nanos) const override {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto found = at_nanos_.find(samples[i].sample);
      nanos[i] = found == at_nanos_.end()     ? kUnknown
                 : found->second == kNever    ? kNever
                 : found->second >= now_nanos ? found->second - now_nanos
                                              : kNever;
    }
  }

 private:
  std::map<std::uint64_t, std::int64_t> at_nanos_;
};

// A cache over objects in memory, with scripted faults and delays.
class CacheHouse {
 public:
  explicit CacheHouse(std::uint64_t capacity,
                      std::uint64_t variant_capacity = UINT64_MAX)
      : budget_(capacity), recording_(&faulty_) {
    cache_ = *Cache::Create(
        {.capacity = capacity, .variant_capacity = variant_capacity, .seed = 1},
        {.below = &recording_,
         .budget = &budget_,
         .next_use = &next_use_,
         .clock = &clock_,
         .cpu_clock = &cpu_clock_});
  }

  storage::ReadRequest Request(const std::string& object,
                               storage::ObjectVersion version,
                               std::uint64_t job = 1) const {
    storage::ReadRequest request;
    request.root = memory_.root();
    request.object = object;
    request.version = version;
    request.length = version.size;
    request.purpose.job = job;
    return request;
  }
  // Returns the answer if it comes before Read() returns.
  std::optional<absl::StatusOr<storage::ReadResult>> Read(
      storage::ReadRequest request) {
    auto answer =
        std::make_shared<std::optional<absl::StatusOr<storage::ReadResult>>>();
    request.done = [answer](absl::StatusOr<storage::ReadResult> result) {
      *answer = std::move(result);
    };
    cache_->Read({&request, 1});
    return *answer;
  }
  // Returns the content, or the error's text.
  std::string Text(storage::ReadRequest request) {
    const auto answer = Read(std::move(request));
    if (!answer.has_value()) return "no answer yet";
    return TextOf(*answer);
  }
  static std::string TextOf(const absl::StatusOr<storage::ReadResult>& result) {
    if (!result.ok()) return std::string(result.status().ToString());
    return std::string(reinterpret_cast<const char*>(result->bytes.data()),
                       result->bytes.size());
  }

  storage::MemorySource& memory() { return memory_; }
  storage::FaultySource& faulty() { return faulty_; }
  RecordingSource& below() { return recording_; }
  ScriptedNextUse& next_use() { return next_use_; }
  base::FakeClock& clock() { return clock_; }
  base::FakeClock& cpu_clock() { return cpu_clock_; }
  base::MemoryBudget& budget() { return budget_; }
  Cache& cache() { return *cache_; }
  void DestroyCache() { cache_.reset(); }

 private:
  base::MemoryBudget budget_;
  base::FakeClock clock_;
  base::FakeClock cpu_clock_;
  ScriptedNextUse next_use_;
  storage::MemorySource memory_;
  storage::FaultySource faulty_{&memory_};
  RecordingSource recording_;
  std::unique_ptr<Cache> cache_;
};

// Returns a callback that appends the answer to `log`, as "name:content ". If
// there is no error and `last` is given, the callback also copies the result to
// `last`.
inline storage::ReadDone Into(std::string* log, std::string name,
                              storage::ReadResult* last = nullptr) {
  return [log, name = std::move(name),
          last](const absl::StatusOr<storage::ReadResult>& result) {
    *log += name + ":" + CacheHouse::TextOf(result) + " ";
    if (last != nullptr && result.ok()) *last = *result;
  };
}

}  // namespace forebay::cache

#endif  // FOREBAY_TESTS_UNIT_SERVER_CACHE_CACHE_HOUSE_H_
