#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_COALESCED_SOURCE_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_COALESCED_SOURCE_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/storage/coalesced_source.h"
#include "tests/conformance/storage/faulty_source.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/storage/noting_source.h"

namespace forebay::storage {

// A coalesced source, over a source that fails when the test says so.
class CoalescedSourceTest {
 protected:
  static constexpr std::uint64_t kMaxBytes = 1'000'000;
  static constexpr std::uint64_t kMostGap = 10'000;

  static std::string RandomText(std::size_t length, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::string text(length, '\0');
    for (char& byte : text) byte = static_cast<char>(random());
    return text;
  }

  CoalescedSourceTest()
      : content_(RandomText(4'000'000, 1)),
        version_(memory_.Put("shard", content_)),
        source_(*CoalescedSource::Create(
            &below_, &budget_,
            {.most_bytes = kMaxBytes, .most_gap = kMostGap})) {}

  // Returns a request that compares its answer with the bytes of the object. It
  // appends "y" or the error to `log_`.
  ReadRequest Request(std::uint64_t offset, std::uint64_t length,
                      std::uint64_t job = 1) {
    ReadRequest request;
    request.root = memory_.root();
    request.object = "shard";
    request.version = version_;
    request.offset = offset;
    request.length = length;
    request.purpose.job = job;
    request.done = [this, offset, length](absl::StatusOr<ReadResult> result) {
      base::MutexLock lock(&mutex_);
      if (!result.ok()) {
        log_.push_back(result.status().ToString());
        return;
      }
      const std::string text(
          reinterpret_cast<const char*>(result->bytes.data()),
          result->bytes.size());
      log_.push_back(text == content_.substr(offset, length) ? "y" : "wrong");
      given_.push_back(std::move(result->bytes));
    };
    return request;
  }
  void Read(std::vector<ReadRequest> requests) {
    source_->Read(absl::MakeSpan(requests));
  }
  std::vector<std::string> log() const {
    base::MutexLock lock(&mutex_);
    return log_;
  }

  MemorySource memory_;
  const std::string content_;
  const ObjectVersion version_;
  FaultySource faulty_{&memory_};
  NotingSource below_{&faulty_};
  base::MemoryBudget budget_{std::uint64_t{64} << 20};
  std::unique_ptr<CoalescedSource> source_;

  mutable base::Mutex mutex_;
  std::vector<std::string> log_ ABSL_GUARDED_BY(mutex_);
  std::vector<base::Bytes> given_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_COALESCED_SOURCE_FIXTURE_H_
