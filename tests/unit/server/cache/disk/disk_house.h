#ifndef FOREBAY_TESTS_UNIT_SERVER_CACHE_DISK_DISK_HOUSE_H_
#define FOREBAY_TESTS_UNIT_SERVER_CACHE_DISK_DISK_HOUSE_H_

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/clock.h"
#include "server/base/memory_budget.h"
#include "server/cache/disk/disk_cache.h"
#include "server/cache/disk/segment_format.h"
#include "tests/conformance/storage/faulty_source.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/cache/cache_house.h"
#include "tests/unit/server/cache/disk/faulty_volume.h"
#include "tests/unit/server/cache/recording_source.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::cache::disk {

// A tier in its own directory, over objects in memory, with scripted faults and
// delays. It can be closed and opened again.
class DiskHouse {
 public:
  static constexpr std::uint64_t kMemory = std::uint64_t{1} << 30;

  explicit DiskHouse(std::uint64_t capacity, std::uint64_t segment_bytes = 0)
      : capacity_(capacity), segment_bytes_(segment_bytes) {
    Open();
  }

  void Open() { cache_ = *TryOpen(); }
  absl::StatusOr<std::unique_ptr<DiskCache>> TryOpen() {
    auto directory = CacheDirectory::Lock(path());
    if (!directory.ok()) return directory.status();
    return DiskCache::Create(
        {.store = {.capacity = capacity_,
                   .waiting_bytes = waiting_bytes_,
                   .segment_bytes = segment_bytes_,
                   .seed = 1},
         .read_threads = 2},
        std::make_unique<FaultyVolume>(*std::move(directory), faults_),
        {.below = &recording_,
         .budget = &budget_,
         .next_use = &next_use_,
         .clock = &clock_});
  }
  // Closes the tier, which first writes the entries that wait to be written.
  void Close() { cache_.reset(); }
  void Reopen() {
    Close();
    Open();
  }

  // Creates an object of `length` random bytes.
  storage::ObjectVersion Put(const std::string& object, std::size_t length) {
    std::string content(length, '\0');
    for (char& byte : content) byte = static_cast<char>(random_());
    return memory_.Put(object, content);
  }
  storage::ReadRequest Request(const std::string& object,
                               storage::ObjectVersion version,
                               std::uint64_t sample = 0) const {
    storage::ReadRequest request;
    request.root = memory_.root();
    request.object = object;
    request.version = version;
    request.length = version.size;
    request.purpose.job = 1;
    if (sample != 0) request.sample = {1, sample};
    return request;
  }
  // Returns the content, or the error's text.
  std::string Text(storage::ReadRequest request) {
    std::promise<absl::StatusOr<storage::ReadResult>> promise;
    auto answer = promise.get_future();
    request.done = [&](absl::StatusOr<storage::ReadResult> result) {
      promise.set_value(std::move(result));
    };
    cache_->Read({&request, 1});
    return CacheHouse::TextOf(answer.get());
  }
  // Reads like Text(), and then waits until the tier has written the entry.
  std::string ReadAndSettle(const storage::ReadRequest& request) {
    std::string text = Text(request);
    Settle();
    return text;
  }
  // Reads like Text(), but from the source below the tier.
  std::string Truth(storage::ReadRequest request) {
    std::string truth;
    request.done = [&](const absl::StatusOr<storage::ReadResult>& result) {
      truth = CacheHouse::TextOf(result);
    };
    memory_.Read({&request, 1});
    return truth;
  }
  // Waits until all inserted entries were written to the disk or dropped.
  void Settle() const {
    while (cache_->Snapshot().waiting > 0) std::this_thread::yield();
  }

  std::vector<std::filesystem::path> Segments() const {
    std::vector<std::filesystem::path> segments;
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      if (SerialOf(entry.path().filename().string()).has_value()) {
        segments.push_back(entry.path());
      }
    }
    std::sort(segments.begin(), segments.end());
    return segments;
  }
  std::string path() const { return scratch_.Path("tier"); }

  void set_capacity(std::uint64_t bytes) { capacity_ = bytes; }
  void set_waiting_bytes(std::uint64_t bytes) { waiting_bytes_ = bytes; }
  Faults& faults() { return *faults_; }
  storage::MemorySource& memory() { return memory_; }
  storage::FaultySource& faulty() { return faulty_; }
  RecordingSource& below() { return recording_; }
  ScriptedNextUse& next_use() { return next_use_; }
  base::FakeClock& clock() { return clock_; }
  base::MemoryBudget& budget() { return budget_; }
  DiskCache& cache() { return *cache_; }

 private:
  std::uint64_t capacity_;
  std::uint64_t segment_bytes_;
  std::uint64_t waiting_bytes_ = std::uint64_t{32} << 20;
  const storage::local::ScratchDir scratch_;
  const std::shared_ptr<Faults> faults_ = std::make_shared<Faults>();
  std::mt19937 random_;
  base::MemoryBudget budget_{kMemory};
  base::FakeClock clock_;
  ScriptedNextUse next_use_;
  storage::MemorySource memory_;
  storage::FaultySource faulty_{&memory_};
  RecordingSource recording_{&faulty_};
  std::unique_ptr<DiskCache> cache_;
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_TESTS_UNIT_SERVER_CACHE_DISK_DISK_HOUSE_H_
