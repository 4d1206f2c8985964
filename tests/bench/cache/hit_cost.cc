// Measures the cost of the cache, without that of the bytes. Prints one JSON
// object: microseconds for each read of
//
// - a hit, on one thread and on several, and a plain table of strings under one
//   mutex;
// - a hit of a local file, which is checked, and that check alone;
// - a miss that evicts, and the kernel's copy of the bytes from its page cache.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "proto/job.pb.h"
#include "server/base/fd.h"
#include "server/cache/cache.h"
#include "server/cache/extent.h"
#include "server/cache/next_use_registry.h"
#include "server/storage/local/local_root.h"
#include "server/stream/epoch_next_use.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::cache {
namespace {

constexpr std::uint64_t kSamples = 400'000;
constexpr std::uint64_t kKept = 100'000;
constexpr std::uint64_t kBytes = 50'000;
constexpr std::size_t kReads = 500'000;
constexpr std::size_t kBatch = 64;
constexpr int kLoaders = 4;
constexpr int kRounds = 3;

// Answers reads at once, with bytes of the right length that are the same for
// all.
class InstantSource final : public storage::ByteSource {
 public:
  void Read(absl::Span<storage::ReadRequest> requests) override {
    for (storage::ReadRequest& request : requests) {
      request.done(storage::ReadResult{base::Bytes(content_, *content_)});
    }
  }

 private:
  const std::shared_ptr<const std::vector<std::uint8_t>> content_ =
      std::make_shared<const std::vector<std::uint8_t>>(kBytes);
};

std::string NameOf(std::uint64_t sample) {
  return "n0" + std::to_string(1'000'000 + sample / 1300) + "/n0" +
         std::to_string(1'000'000 + sample / 1300) + "_" +
         std::to_string(1'000'000 + sample) + ".JPEG";
}

storage::ReadRequest RequestFor(std::shared_ptr<const storage::Root> root,
                                std::uint64_t sample) {
  storage::ReadRequest request;
  request.root = std::move(root);
  request.object = NameOf(sample);
  request.version = {kBytes, 1};
  request.length = kBytes;
  request.sample = {1, sample};
  request.done = [](const absl::StatusOr<storage::ReadResult>& result) {
    if (!result.ok() || result->bytes.size() != kBytes) std::abort();
  };
  return request;
}

std::vector<std::uint64_t> Order(std::uint64_t first, std::uint64_t count,
                                 std::size_t reads, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint64_t> order(reads);
  for (std::uint64_t& sample : order) sample = first + random() % count;
  return order;
}

template <typename Work>
double Microseconds(std::size_t reads, Work work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::micro> took =
      std::chrono::steady_clock::now() - begin;
  return took.count() / static_cast<double>(reads);
}

// Files of the right length in a directory of their own. They are sparse.
class Files {
 public:
  static constexpr std::uint64_t kCount = 2'000;

  Files() {
    char path[] = "/tmp/forebay-hit-cost.XXXXXX";
    if (mkdtemp(path) == nullptr) std::abort();
    path_ = path;
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const std::filesystem::path file = path_ / NameOf(i);
      std::filesystem::create_directories(file.parent_path());
      const base::Fd fd(open(file.c_str(), O_CREAT | O_WRONLY, 0600));
      if (ftruncate(fd.get(), kBytes) != 0) std::abort();
    }
    root_ = *storage::local::LocalRoot::Create(
        base::Fd(open(path, O_RDONLY | O_DIRECTORY)), path);
  }
  ~Files() { std::filesystem::remove_all(path_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  storage::ReadRequest Request(std::uint64_t sample) const {
    storage::ReadRequest request = RequestFor(root_, sample);
    request.version = root_->Stat(request.object)->version();
    request.sample = {};  // cached, because it was read most recently
    return request;
  }
  double Look() const {
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < kCount; ++i) names.push_back(NameOf(i));
    return Microseconds(kCount, [&] {
      struct stat stat;
      for (const std::string& name : names) {
        if (fstatat(root_->directory(), name.c_str(), &stat, 0) != 0)
          std::abort();
      }
    });
  }

 private:
  std::filesystem::path path_;
  std::shared_ptr<const storage::local::LocalRoot> root_;
};

class Bench {
 public:
  Bench() {
    proto::SamplerSpec spec;
    spec.set_order(proto::SamplerSpec::SHUFFLE);
    for (int i = 0; i < kLoaders; ++i) {
      spec.set_seed(i);
      const auto sampler = *sampler::Sampler::Create(spec, kSamples);
      auto next_use = std::make_shared<stream::EpochNextUse>(kSamples);
      next_use->Start(stream::EpochPair::Of(sampler, 0), kSamples / 5 * i, 0);
      registrations_.push_back(std::make_unique<NextUseRegistry::Registration>(
          &next_use_registry_, 1, next_use));
    }
    cache_ = *Cache::Create({.capacity = budget_.limit(), .seed = 1},
                            {.below = &source_,
                             .budget = &budget_,
                             .next_use = &next_use_registry_,
                             .clock = base::Clock::Monotonic()});
    std::vector<std::uint64_t> all(kKept);
    for (std::uint64_t i = 0; i < kKept; ++i) all[i] = i;
    Reads(all)();
  }

  // Reads in `threads` concurrent threads, each of which makes all reads.
  // Returns a thread's time for one read.
  double Hit(int threads) {
    std::vector<std::function<void()>> work;
    for (int i = 0; i < threads; ++i) {
      work.push_back(Reads(Order(0, kKept, kReads, i)));
    }
    return Microseconds(kReads, [&] {
      std::vector<std::jthread> running;
      running.reserve(work.size());
      for (const auto& reads : work) running.emplace_back(reads);
    });
  }

  double LocalHit(const Files& files) {
    const auto read_all = [&] {
      std::vector<storage::ReadRequest> requests;
      for (std::uint64_t i = 0; i < Files::kCount; ++i)
        requests.push_back(files.Request(i));
      return Microseconds(Files::kCount, [&] { Read(&requests); });
    };
    read_all();  // misses
    return read_all();
  }

  double Miss() {
    constexpr std::size_t kMisses = 50'000;
    const auto work =
        Reads(Order(kKept, kSamples - kKept, kMisses, /*seed=*/9));
    return Microseconds(kMisses, work);
  }

 private:
  // Returns a function that makes reads in this order. Their requests are
  // prepared here, before the measurement.
  std::function<void()> Reads(const std::vector<std::uint64_t>& order) {
    auto requests = std::make_shared<std::vector<storage::ReadRequest>>();
    for (const std::uint64_t sample : order) {
      requests->push_back(RequestFor(root_, sample));
    }
    return [this, requests] { Read(requests.get()); };
  }
  void Read(std::vector<storage::ReadRequest>* requests) {
    for (std::size_t i = 0; i < requests->size(); i += kBatch) {
      cache_->Read(absl::MakeSpan(*requests).subspan(i, kBatch));
    }
  }

  const std::shared_ptr<const storage::Root> root_ =
      storage::FakeRoot::Make({.uri = "local 2049 131073 /data/train",
                               .identity = "local 2049 131073 /data/train"});
  base::MemoryBudget budget_{kKept * MemoryFor(RequestFor(root_, 0))};
  InstantSource source_;
  NextUseRegistry next_use_registry_;
  std::vector<std::unique_ptr<NextUseRegistry::Registration>> registrations_;
  std::unique_ptr<Cache> cache_;
};

double BareTable() {
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const int>> table;
  for (std::uint64_t i = 0; i < kKept; ++i) {
    table[NameOf(i)] = std::make_shared<const int>(0);
  }
  std::vector<std::string> names;
  for (const std::uint64_t i : Order(0, kKept, kReads, 0)) {
    names.push_back(NameOf(i));
  }
  return Microseconds(kReads, [&] {
    for (const std::string& name : names) {
      std::shared_ptr<const int> found;
      {
        const std::lock_guard<std::mutex> lock(mutex);
        found = table.find(name)->second;
      }
      if (*found != 0) std::abort();
    }
  });
}

double KernelCopy() {
  constexpr std::uint64_t kFile = std::uint64_t{256} << 20;
  constexpr std::size_t kCopies = 5'000;
  const int fd = memfd_create("bench", MFD_CLOEXEC);
  const std::vector<char> zeros(1 << 20);
  for (std::uint64_t at = 0; at < kFile; at += zeros.size()) {
    if (write(fd, zeros.data(), zeros.size()) < 0) std::abort();
  }
  std::vector<char> buffer(kBytes);
  const auto offsets = Order(0, kFile - kBytes, kCopies, 0);
  const double took = Microseconds(kCopies, [&] {
    for (const std::uint64_t offset : offsets) {
      if (pread(fd, buffer.data(), kBytes, static_cast<off_t>(offset)) !=
          kBytes) {
        std::abort();
      }
    }
  });
  close(fd);
  return took;
}

template <typename Measure>
double Median(Measure measure) {
  std::vector<double> found;
  for (int round = 0; round < kRounds; ++round) found.push_back(measure());
  std::sort(found.begin(), found.end());
  return found[kRounds / 2];
}

}  // namespace

int Main() {
  Bench bench;
  const double hit = Median([&] { return bench.Hit(1); });
  const double together = Median([&] { return bench.Hit(2); });
  const double bare = Median(BareTable);
  const double copy = Median(KernelCopy);
  const double miss = bench.Miss();
  const Files files;
  const double local_hit = Median([&] { return bench.LocalHit(files); });
  const double look = Median([&] { return files.Look(); });
  std::printf(
      "{\"hit_us\": %.3f, \"hit_of_two_threads_us\": %.3f, "
      "\"bare_table_us\": %.3f, \"local_hit_us\": %.3f, \"look_us\": %.3f, "
      "\"miss_us\": %.3f, \"kernel_copy_us\": %.3f}\n",
      hit, together, bare, local_hit, look, miss, copy);
  return 0;
}

}  // namespace forebay::cache

int main() { return forebay::cache::Main(); }
