// Several loaders in one process, and several threads. Only the thread of the
// tests makes assertions.

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "tests/catch/catch.h"
#include "tests/integration/cpp/reading.h"
#include "tests/integration/cpp/set_at_end.h"

namespace cpp_user {
namespace {

std::ptrdiff_t ThreadCount() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads));
}

TEST_CASE("The library starts no thread", "[cpp][threads]") {
  const Daemon daemon;
  const Pictures pictures;
  const std::ptrdiff_t before = ThreadCount();
  forebay::Loader loader(OptionsFor(daemon, pictures), RandomCrops());
  loader.StartEpoch(0);
  const auto batch = loader.Next();
  CHECK(ThreadCount() == before);
  ReadRest(loader);
  loader.Close();
  CHECK(ThreadCount() == before);
}

TEST_CASE("C++ loaders in one thread do not mix", "[cpp][threads]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.order = FOREBAY_SHUFFLE;
  std::vector<forebay::Loader> loaders;
  std::vector<Epoch> expected;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    options.seed = seed;
    loaders.emplace_back(options, RandomCrops());
    expected.push_back(ReadEpoch(loaders.back(), seed));
    loaders.back().StartEpoch(seed);
  }
  std::vector<Epoch> read(3);
  for (int step = 0; step < 8; ++step) {
    for (std::size_t i = 0; i < loaders.size(); ++i) {
      const auto batch = loaders[i].Next();
      REQUIRE(batch.has_value());
      for (const std::int64_t id : IdsOf(*batch)) read[i].ids.push_back(id);
      read[i].sums.push_back(SumOf(*batch));
    }
  }
  for (std::size_t i = 0; i < loaders.size(); ++i) {
    CHECK(read[i] == expected[i]);
    CHECK_FALSE(loaders[i].Next().has_value());
  }
}

TEST_CASE("C++ threads read loaders of their own side by side",
          "[cpp][threads]") {
  const Daemon daemon;
  const Pictures pictures;
  const auto read = [&](std::uint64_t seed) {
    forebay_loader_options options = OptionsFor(daemon, pictures);
    options.order = FOREBAY_SHUFFLE;
    options.seed = seed;
    std::vector<Epoch> epochs;
    forebay::Loader loader(options, RandomCrops());
    for (const std::uint64_t epoch : {0, 1, 2})
      epochs.push_back(ReadEpoch(loader, epoch));
    return epochs;
  };
  std::vector<std::future<std::vector<Epoch>>> threads;
  // Two loaders have the same seed, and share their batches.
  for (std::uint64_t i = 0; i < 6; ++i)
    threads.push_back(std::async(std::launch::async, read, i / 2));
  for (std::uint64_t i = 0; i < 6; ++i) {
    CAPTURE(i);
    const std::vector<Epoch> epochs = threads[i].get();
    CHECK(epochs == read(i / 2));
  }
}

TEST_CASE("Any C++ thread reads and drops a batch", "[cpp][threads]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.batch_size = 1;
  forebay::Loader loader(options, RandomCrops());
  const Epoch expected = ReadEpoch(loader, 0);
  for (int round = 0; round < 3; ++round) {
    loader.StartEpoch(0);
    std::vector<std::future<std::uint32_t>> sums;
    while (auto batch = loader.Next()) {
      sums.push_back(
          std::async(std::launch::async, [batch = *std::move(batch)]() mutable {
            const forebay::Batch own = std::move(batch);
            return SumOf(own);
          }));
    }
    std::vector<std::uint32_t> read;
    for (auto& sum : sums) read.push_back(sum.get());
    CHECK(read == expected.sums);
    sums.clear();
    CHECK(loader.stats().batches_held == 0);
  }
}

TEST_CASE("A C++ loader may be opened in one thread and read in another",
          "[cpp][threads]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(OptionsFor(daemon, pictures), RandomCrops());
  const Epoch expected = ReadEpoch(loader, 0);
  loader.StartEpoch(0);
  auto thread = std::async(
      std::launch::async,
      [loader = std::move(loader)]() mutable { return ReadRest(loader); });
  CHECK(thread.get() == expected);
}

TEST_CASE("What a C++ loader tells may be asked beside a thread that reads",
          "[cpp][threads]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(OptionsFor(daemon, pictures), RandomCrops());
  std::atomic<bool> done{false};
  auto reader = std::async(std::launch::async, [&] {
    const SetAtEnd at_end{done};
    std::size_t samples = 0;
    for (std::uint64_t epoch = 0; epoch < 10; ++epoch)
      samples += ReadEpoch(loader, epoch).ids.size();
    return samples;
  });
  std::uint64_t delivered = 0;
  bool goes_back = false;
  do {
    const std::uint64_t now = loader.stats().samples_delivered;
    goes_back = goes_back || now < delivered;
    delivered = now;
    CHECK(loader.info().dataset_size == kSamples);
    CHECK(loader.class_name(2) == "cedar");
    CHECK(loader.refusal().empty());
  } while (!done.load());
  CHECK(reader.get() == 10 * kSamples);
  CHECK_FALSE(goes_back);
  CHECK(loader.stats().samples_delivered == 10 * kSamples);
}

// Whether a task has ended.
template <class Result>
bool HasEnded(const std::future<Result>& task) {
  return task.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

// Whether a thread of this process sleeps.
bool Sleeps(pid_t thread) {
  std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  getline(stat, text);
  return text.find(") S ") != std::string::npos;
}

TEST_CASE("Closing a loader ends the wait of another thread",
          "[cpp][threads]") {
  Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.batch_size = 1;
  forebay_loader* const loader = OpenInC(options);
  REQUIRE(forebay_loader_start_epoch(loader, 0, 0) == FOREBAY_OK);
  daemon.Pause();
  std::promise<pid_t> thread_id;
  auto waits = std::async(std::launch::async, [&] {
    thread_id.set_value(static_cast<pid_t>(syscall(SYS_gettid)));
    forebay_batch* batch = nullptr;
    forebay_status status;
    while ((status = forebay_loader_next(loader, -1, &batch)) == FOREBAY_OK)
      forebay_batch_release(batch);
    return std::pair(status, std::string(forebay_last_error()));
  });
  const pid_t thread = thread_id.get_future().get();
  while (!Sleeps(thread) && !HasEnded(waits)) std::this_thread::yield();
  forebay_loader_close(loader);
  const auto [status, said] = waits.get();
  CHECK(status == FOREBAY_FAILED_PRECONDITION);
  CHECK_THAT(said, Catch::Contains("closed"));
  daemon.Resume();
  forebay_loader_free(loader);
}

TEST_CASE("A loader may be closed at any moment beside a thread that reads",
          "[cpp][threads]") {
  const Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = OptionsFor(daemon, pictures);
  for (int round = 0; round < 30; ++round) {
    forebay::Loader loader(options, RandomCrops());
    std::atomic<int> steps{0};
    auto reader = std::async(std::launch::async, [&] {
      std::vector<forebay::Batch> held;
      return FailureOf([&] {
        for (std::uint64_t epoch = 0;; ++epoch) {
          loader.StartEpoch(epoch);
          while (auto batch = loader.Next()) {
            if (++steps % 3 == 0) held.clear();
            held.push_back(*std::move(batch));
          }
        }
      });
    });
    while (steps.load() < round && !HasEnded(reader)) std::this_thread::yield();
    loader.Close();
    const Failure failure = reader.get();
    CHECK(failure.status == FOREBAY_FAILED_PRECONDITION);
    CHECK_THAT(failure.text, Catch::Contains("closed"));
  }
}

TEST_CASE("The last error is that of the thread that asks", "[cpp][threads]") {
  CHECK(forebay_runtime_dir(nullptr, 0) == FOREBAY_INVALID_ARGUMENT);
  const std::string mine = forebay_last_error();
  CHECK_FALSE(mine.empty());
  auto other = std::async(std::launch::async, [] {
    std::vector<std::string> said = {forebay_last_error()};
    static_cast<void>(forebay_ping("/nowhere"));
    said.emplace_back(forebay_last_error());
    char path[4096];
    static_cast<void>(forebay_runtime_dir(path, sizeof path));
    // A successful call does not change the last error.
    said.emplace_back(forebay_last_error());
    return said;
  });
  const std::vector<std::string> said = other.get();
  CHECK(said[0].empty());
  CHECK_THAT(said[1], Catch::Contains("/nowhere"));
  CHECK(said[2] == said[1]);
  CHECK(forebay_last_error() == mine);
}

}  // namespace
}  // namespace cpp_user
