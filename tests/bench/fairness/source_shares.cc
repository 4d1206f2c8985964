// Runs jobs that want more than a source can give, through the daemon's
// scheduler. Measures what each job gets, what the others get when one is idle,
// and how long a job that wants little waits. The source reads real files, but
// is throttled, so that the scheduler decides who gets how much.

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "server/base/fd.h"
#include "server/base/mutex.h"
#include "server/storage/local/local_root.h"
#include "server/storage/local/local_source.h"
#include "server/storage/scheduled_source.h"
#include "tests/bench/fairness/throttled_source.h"

namespace forebay::bench {
namespace {

using std::chrono::steady_clock;
using storage::ReadRequest;
using storage::local::LocalRoot;
using Seconds = std::chrono::duration<double>;

struct Files {
  std::shared_ptr<const LocalRoot> root;
  std::vector<std::pair<std::string, storage::ObjectVersion>> objects;
  double mean_bytes = 0;
};

absl::StatusOr<Files> Find(const std::string& directory) {
  Files files;
  auto root = LocalRoot::Create(
      base::Fd(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      std::filesystem::absolute(directory).string());
  if (!root.ok()) return root.status();
  files.root = *std::move(root);
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    const std::string name =
        std::filesystem::relative(entry.path(), directory).string();
    const auto stat = files.root->Stat(name);
    if (!stat.ok() || stat->size == 0) continue;
    files.objects.emplace_back(name, stat->version());
    files.mean_bytes += static_cast<double>(stat->size);
  }
  if (files.objects.empty()) return absl::NotFoundError("no files");
  files.mean_bytes /= static_cast<double>(files.objects.size());
  return files;
}

// A throttled source and its scheduler; each measurement has new ones.
class Disk {
 public:
  Disk(const Files* files, double rate)
      : files_(files), throttled_(&local_, rate), scheduled_(&throttled_) {}

  storage::ScheduledSource& source() { return scheduled_; }

  ReadRequest Request(std::uint64_t job, std::mt19937_64& random) const {
    const auto& [name, version] =
        files_->objects[random() % files_->objects.size()];
    ReadRequest request;
    request.root = files_->root;
    request.object = name;
    request.version = version;
    request.length = version.size;
    request.purpose.job = job;
    return request;
  }

 private:
  const Files* const files_;
  storage::local::LocalSource local_;
  ThrottledSource throttled_;
  storage::ScheduledSource scheduled_;
};

// A job that always has `ahead` reads in flight, until it is stopped.
class Greedy {
 public:
  Greedy(Disk* disk, std::uint64_t job, int ahead)
      : disk_(disk), job_(job), random_(job), left_(ahead) {
    for (int i = 0; i < ahead; ++i) Next();
  }
  ~Greedy() { End(); }

  std::int64_t bytes() const { return bytes_; }

  void End() {
    ending_ = true;
    for (int left = left_; left > 0; left = left_) left_.wait(left);
  }

 private:
  void Next() {
    ReadRequest request;
    {
      base::MutexLock lock(&mutex_);
      request = disk_->Request(job_, random_);
    }
    request.done = [this](const absl::StatusOr<storage::ReadResult>& result) {
      if (result.ok())
        bytes_ += static_cast<std::int64_t>(result->bytes.size());
      if (!ending_) return Next();
      --left_;
      left_.notify_all();
    };
    disk_->source().Read({&request, 1});
  }

  Disk* const disk_;
  const std::uint64_t job_;
  base::Mutex mutex_;
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);
  std::atomic<std::int64_t> bytes_ = 0;
  std::atomic<bool> ending_ = false;
  std::atomic<int> left_;
};

// Returns the bytes per second of each job, once all jobs read.
std::vector<double> Rates(Disk* disk, const std::vector<std::uint64_t>& jobs,
                          int ahead, double seconds) {
  std::vector<std::unique_ptr<Greedy>> running;
  for (const std::uint64_t job : jobs)
    running.push_back(std::make_unique<Greedy>(disk, job, ahead));
  std::this_thread::sleep_for(Seconds(0.5));
  std::vector<double> rates;
  for (const auto& job : running)
    rates.push_back(-static_cast<double>(job->bytes()));
  const auto begin = steady_clock::now();
  std::this_thread::sleep_for(Seconds(seconds));
  const double took = Seconds(steady_clock::now() - begin).count();
  for (std::size_t i = 0; i < jobs.size(); ++i)
    rates[i] = (rates[i] + static_cast<double>(running[i]->bytes())) / took;
  return rates;
}

// Returns the 99th percentile of the time that a job waits for a batch. The job
// wants its batches `step` seconds apart, and requests the next batch when it
// takes one.
double WaitOf(Disk* disk, std::uint64_t job, int batch, double step,
              double seconds) {
  std::mt19937_64 random(job);
  const auto ask = [&] {
    auto left = std::make_shared<std::atomic<int>>(batch);
    auto done = std::make_shared<std::promise<void>>();
    std::vector<ReadRequest> requests;
    for (int i = 0; i < batch; ++i) {
      requests.push_back(disk->Request(job, random));
      requests.back().done = [left, done](const auto&) {
        if (--*left == 0) done->set_value();
      };
    }
    disk->source().Read(absl::MakeSpan(requests));
    return done->get_future();
  };
  std::vector<double> waits;
  std::future<void> next = ask();
  const auto end = steady_clock::now() + Seconds(seconds);
  while (steady_clock::now() < end) {
    std::this_thread::sleep_for(Seconds(step));
    const auto wanted = steady_clock::now();
    next.wait();
    waits.push_back(Seconds(steady_clock::now() - wanted).count());
    next = ask();
  }
  next.wait();
  std::sort(waits.begin(), waits.end());
  return waits[waits.size() * 99 / 100];
}

int Measure(const std::string& directory, double rate, double seconds) {
  constexpr int kAhead = 256;
  constexpr int kBatch = 16;
  constexpr double kLight = 0.05;  // the light job's share of what there is
  const absl::StatusOr<Files> files = Find(directory);
  if (!files.ok()) {
    std::fprintf(stderr, "%s: %s\n", directory.c_str(),
                 files.status().ToString().c_str());
    return 1;
  }
  Disk disk(&*files, rate);
  for (const std::uint64_t job : {1, 2, 4})
    disk.source().SetWeight(job, static_cast<double>(job));
  const std::vector<double> all = Rates(&disk, {1, 2, 4}, kAhead, seconds);
  const std::vector<double> two = Rates(&disk, {1, 2}, kAhead, seconds);
  const double step = files->mean_bytes * kBatch / (kLight * rate);
  const double alone = WaitOf(&disk, 8, kBatch, step, 2 * seconds);
  double beside = 0;
  {
    const Greedy greedy(&disk, 9, kAhead);
    beside = WaitOf(&disk, 8, kBatch, step, 2 * seconds);
  }
  std::printf(
      "{\"rates\": {\"1\": %.1f, \"2\": %.1f, \"4\": %.1f}, "
      "\"rates_of_two\": {\"1\": %.1f, \"2\": %.1f}, \"step_s\": %.6f, "
      "\"wait_alone_s\": %.9f, \"wait_beside_s\": %.9f, "
      "\"request_cost_bytes\": %lld}\n",
      all[0], all[1], all[2], two[0], two[1], step, alone, beside,
      static_cast<long long>(disk.source().State().request_cost));
  return 0;
}

}  // namespace
}  // namespace forebay::bench

int main(int argc, char** argv) {
  CLI::App app(
      "Shares of a throttled source among jobs of weights 1, 2 and 4.");
  std::string directory;
  double rate = 100e6;
  double seconds = 5;
  app.add_option("directory", directory, "Where the files are")->required();
  app.add_option("--rate", rate, "Bytes a second (default 100e6)")
      ->check(CLI::Range(1e6, 1e11));
  app.add_option("--seconds", seconds, "How long each way (default 5)")
      ->check(CLI::Range(0.1, 3600.0));
  CLI11_PARSE(app, argc, argv);
  return forebay::bench::Measure(directory, rate, seconds);
}
