// Reads random ranges of files as fast as the daemon's local source can. Prints
// the rate and the CPU time.

#include <fcntl.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <latch>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "server/base/fd.h"
#include "server/base/mutex.h"
#include "server/storage/local/local_root.h"
#include "server/storage/local/uring_source.h"

namespace forebay::bench {
namespace {

using storage::ReadRequest;
using storage::local::LocalRoot;
using storage::local::UringSource;

double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Object {
  std::string name;
  storage::ObjectVersion version;
};

// Keeps `ahead` reads in flight until the time given to Run() is up.
class Load {
 public:
  Load(UringSource* source, std::shared_ptr<const LocalRoot> root,
       std::vector<Object> objects, std::uint64_t block, int ahead)
      : source_(source),
        root_(std::move(root)),
        objects_(std::move(objects)),
        block_(block),
        finished_(ahead) {}

  void Run(double seconds, int ahead) {
    end_ = std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(
               std::chrono::duration<double>(seconds));
    for (int i = 0; i < ahead; ++i) Next();
    finished_.wait();
  }

  std::int64_t reads() const {
    base::MutexLock lock(&mutex_);
    return reads_;
  }
  std::int64_t failures() const {
    base::MutexLock lock(&mutex_);
    return failures_;
  }

 private:
  void Next() {
    ReadRequest request;
    {
      base::MutexLock lock(&mutex_);
      const Object& object = objects_[random_() % objects_.size()];
      request.object = object.name;
      request.version = object.version;
      request.offset = random_() % (object.version.size / block_) * block_;
    }
    request.root = root_;
    request.length = block_;
    request.done = [this](const absl::StatusOr<storage::ReadResult>& result) {
      {
        base::MutexLock lock(&mutex_);
        ++(result.ok() ? reads_ : failures_);
      }
      if (std::chrono::steady_clock::now() < end_)
        Next();
      else
        finished_.count_down();
    };
    source_->Read({&request, 1});
  }

  UringSource* const source_;
  const std::shared_ptr<const LocalRoot> root_;
  const std::vector<Object> objects_;
  const std::uint64_t block_;
  std::chrono::steady_clock::time_point end_;
  std::latch finished_;
  mutable base::Mutex mutex_;
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);
  std::int64_t reads_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t failures_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Measures reads of a directory's files, and prints the result. Returns the
// exit status.
int Measure(const std::string& directory, std::uint64_t block, unsigned depth,
            double seconds) {
  const auto root = LocalRoot::Create(
      base::Fd(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      std::filesystem::absolute(directory).string());
  if (!root.ok()) {
    std::fprintf(stderr, "%s\n", root.status().ToString().c_str());
    return 1;
  }
  std::vector<Object> objects;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    const auto stat = (*root)->Stat(name);
    if (stat.ok() && stat->size >= block)
      objects.push_back({name, stat->version()});
  }
  const auto source = UringSource::Create(
      {.depth = depth, .page_cache_room = [] { return 0; }, .pool = {}});
  if (objects.empty() || !source.ok()) {
    std::fprintf(stderr, "%s: nothing to read, or %s\n", directory.c_str(),
                 source.status().ToString().c_str());
    return 1;
  }
  // Twice the ring's depth, so that the ring is never short of reads.
  const int ahead = static_cast<int>(2 * depth);
  Load load(source->get(), *root, std::move(objects), block, ahead);
  const auto begin = std::chrono::steady_clock::now();
  const double cpu_begin = CpuSeconds();
  load.Run(seconds, ahead);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  const double cpu = CpuSeconds() - cpu_begin;
  std::printf(
      "{\"reads\": %lld, \"failures\": %lld, \"seconds\": %.6f, "
      "\"cpu_seconds\": %.6f}\n",
      static_cast<long long>(load.reads()),
      static_cast<long long>(load.failures()), took.count(), cpu);
  return 0;
}

}  // namespace
}  // namespace forebay::bench

int main(int argc, char** argv) {
  CLI::App app("Reads random ranges of a folder's files through io_uring.");
  std::string directory;
  std::uint64_t block = 102400;
  unsigned depth = 64;
  double seconds = 5;
  app.add_option("directory", directory, "Where the files are")->required();
  app.add_option("--block", block, "Bytes of a range (default 102400)")
      ->check(CLI::Range(1, 1 << 30));
  app.add_option("--depth", depth, "Reads at once (default 64)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--seconds", seconds, "How long (default 5)")
      ->check(CLI::Range(0.1, 3600.0));
  CLI11_PARSE(app, argc, argv);
  return forebay::bench::Measure(directory, block, depth, seconds);
}
