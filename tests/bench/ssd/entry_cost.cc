// Measures the cost of an entry that the cache's second tier writes or reads,
// beside bare writes and reads of the same bytes. All bypass the page cache, on
// the same disk. Bare writes have the tier's size, and follow one another. Bare
// reads are made by the same number of threads, in a random order. Prints one
// JSON object: microseconds per entry, of wall time and of CPU time.
//
// Usage: entry_cost DIRECTORY tier|bare (the one that is measured first)

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/clock.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/base/philox.h"
#include "server/cache/disk/disk_cache.h"
#include "server/cache/disk/record.h"
#include "server/cache/disk/segment_file.h"
#include "server/cache/disk/volume.h"
#include "server/cache/next_use_registry.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::cache::disk {
namespace {

constexpr std::uint64_t kEntries = 6'000;
constexpr std::uint64_t kBytes = 25 * kPageBytes;  // 100 KiB
constexpr std::uint64_t kWrite = std::uint64_t{2} << 20;
constexpr std::uint64_t kCapacity = std::uint64_t{1} << 30;
constexpr int kThreads = 8;
constexpr std::uint64_t kAtOnce = 64;

// Answers reads at once, with bytes of the right length that are the same for
// all.
class InstantSource final : public storage::ByteSource {
 public:
  void Read(absl::Span<storage::ReadRequest> requests) override {
    for (storage::ReadRequest& request : requests) {
      ++reads_;
      request.done(storage::ReadResult{base::Bytes(content_, *content_)});
    }
  }
  std::uint64_t reads() const { return reads_; }

 private:
  std::atomic<std::uint64_t> reads_ = 0;
  const std::shared_ptr<const std::vector<std::uint8_t>> content_ =
      std::make_shared<const std::vector<std::uint8_t>>(kBytes, 0x5a);
};

// Bounds the number of reads that are in flight at once.
class Window {
 public:
  void Enter() {
    base::MutexLock lock(&mutex_);
    while (inside_ == kAtOnce) left_.Wait(&mutex_);
    ++inside_;
  }
  void Leave() {
    base::MutexLock lock(&mutex_);
    --inside_;
    left_.NotifyAll();
  }
  void AwaitAll() {
    base::MutexLock lock(&mutex_);
    while (inside_ > 0) left_.Wait(&mutex_);
  }

 private:
  base::Mutex mutex_;
  base::CondVar left_;
  std::uint64_t inside_ ABSL_GUARDED_BY(mutex_) = 0;
};

double CpuMicros() {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto micros = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 +
           static_cast<double>(time.tv_usec);
  };
  return micros(usage.ru_utime) + micros(usage.ru_stime);
}

struct Cost {
  double micros = 0;  // for each entry
  double cpu = 0;
};

template <typename Work>
Cost CostOf(Work work) {
  const double cpu = CpuMicros();
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::micro> took =
      std::chrono::steady_clock::now() - begin;
  return {took.count() / kEntries, (CpuMicros() - cpu) / kEntries};
}

// Sleeps while the disk works. The sleep is short beside the measured times.
void Pause() { std::this_thread::sleep_for(std::chrono::microseconds(200)); }

std::vector<std::uint64_t> RandomOrder() {
  base::PhiloxStream random(/*seed=*/1, /*epoch=*/0, /*sample=*/0, /*op=*/0);
  std::vector<std::uint64_t> order(kEntries);
  for (std::uint64_t i = 0; i < kEntries; ++i) order[i] = i;
  for (std::uint64_t i = kEntries - 1; i > 0; --i) {
    std::swap(order[i], order[random.NextUint32() % (i + 1)]);
  }
  return order;
}

class Tier {
 public:
  explicit Tier(const std::string& path)
      : cache_(*DiskCache::Create(
            {.store = {.capacity = kCapacity}, .read_threads = kThreads},
            *CacheDirectory::Lock(path),
            {.below = &source_,
             .budget = &budget_,
             .next_use = &next_use_registry_,
             .clock = base::Clock::Monotonic()})) {}

  // Writes all entries as fast as the disk takes them. At most 24 MiB wait to
  // be written, so the tier refuses no entry.
  Cost Write() {
    return CostOf([this] {
      for (std::uint64_t i = 0; i < kEntries; ++i) {
        while (cache_->Snapshot().waiting > (24 << 20)) {
          Pause();
        }
        Read(i);
      }
      while (cache_->Snapshot().waiting > 0) Pause();
    });
  }
  Cost Read() {
    const Cost cost = CostOf([this] {
      for (const std::uint64_t entry : RandomOrder()) Read(entry);
      window_.AwaitAll();
    });
    if (source_.reads() != kEntries) std::abort();
    return cost;
  }

 private:
  void Read(std::uint64_t entry) {
    window_.Enter();
    storage::ReadRequest request;
    request.root = root_;
    request.object = "class/sample" + std::to_string(entry) + ".jpg";
    request.version = {kBytes, 1};
    request.length = kBytes;
    request.done = [this](const absl::StatusOr<storage::ReadResult>& result) {
      if (!result.ok() || result->bytes.size() != kBytes) std::abort();
      window_.Leave();
    };
    cache_->Read({&request, 1});
  }

  const std::shared_ptr<const storage::Root> root_ = storage::FakeRoot::Make(
      {.uri = "https://host/bucket/train/",
       .lasting_identity = "https://host/bucket/train/"});
  Window window_;
  base::MemoryBudget budget_{std::uint64_t{1} << 30};
  InstantSource source_;
  NextUseRegistry next_use_registry_;
  std::unique_ptr<DiskCache> cache_;
};

// Bare reads and writes of the same bytes in one file.
class Bare {
 public:
  explicit Bare(const std::string& path)
      : directory_(*CacheDirectory::Lock(path)),
        file_{base::Fd(directory_->Create("bare", kFile)), 0, kFile} {
    if (!file_.fd) std::abort();
  }

  Cost Write() {
    const PageBuffer buffer(kWrite);
    std::fill(buffer.span().begin(), buffer.span().end(), 0x5a);
    return CostOf([&] {
      for (std::uint64_t at = 0; at < kFile; at += kWrite) {
        if (!WritePages(*directory_, file_, buffer.span(), at).ok()) {
          std::abort();
        }
      }
    });
  }
  Cost Read() {
    return CostOf([this] {
      const std::vector<std::uint64_t> order = RandomOrder();
      std::atomic<std::uint64_t> next = 0;
      std::vector<std::jthread> threads;
      for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
          const PageBuffer buffer(kBytes);
          for (std::uint64_t i = next++; i < kEntries; i = next++) {
            if (!ReadPages(*directory_, file_, buffer.span(), order[i] * kBytes)
                     .ok()) {
              std::abort();
            }
          }
        });
      }
    });
  }

 private:
  static constexpr std::uint64_t kFile = RoundUp(kEntries * kBytes, kWrite);

  const std::unique_ptr<CacheDirectory> directory_;
  const SegmentFile file_;
};

void Print(const char* name, const Cost& cost, const char* end) {
  std::printf("\"%s_us\": %.2f, \"%s_cpu_us\": %.2f%s", name, cost.micros, name,
              cost.cpu, end);
}

// Measures the tier and the bare file in the order that the caller chose. Some
// disks are faster for the one that is measured second.
int Main(const std::string& path, bool bare_first) {
  Tier tier(path + "/tier");
  Bare bare(path + "/bare");
  std::printf("{");
  if (bare_first) {
    Print("bare_write", bare.Write(), ", ");
    Print("write", tier.Write(), ", ");
    Print("bare_read", bare.Read(), ", ");
    Print("read", tier.Read(), "}\n");
  } else {
    Print("write", tier.Write(), ", ");
    Print("bare_write", bare.Write(), ", ");
    Print("read", tier.Read(), ", ");
    Print("bare_read", bare.Read(), "}\n");
  }
  return 0;
}

}  // namespace
}  // namespace forebay::cache::disk

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return forebay::cache::disk::Main(argv[1], argv[2] == std::string("bare"));
}
