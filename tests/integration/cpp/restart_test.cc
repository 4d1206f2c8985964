// The daemon dies, is stopped or comes back while a C++ program reads.

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>

#include <filesystem>
#include <future>
#include <memory>
#include <thread>

#include "tests/catch/catch.h"
#include "tests/integration/cpp/reading.h"

namespace cpp_user {
namespace {

forebay_loader_options Shuffled(const Daemon& daemon,
                                const Pictures& pictures) {
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.order = FOREBAY_SHUFFLE;
  options.batch_size = 1;
  return options;
}

TEST_CASE("A daemon's death is a pause for a C++ program", "[cpp][restart]") {
  Daemon daemon;
  const Pictures pictures;
  for (const forebay_order order : {FOREBAY_SHUFFLE, FOREBAY_COORDINATED}) {
    CAPTURE(order);
    forebay_loader_options options = Shuffled(daemon, pictures);
    options.order = order;
    forebay::Loader loader(options, RandomCrops());
    const Epoch expected = ReadEpoch(loader, 0);
    Epoch read;
    std::vector<forebay::Batch> held;
    loader.StartEpoch(0);
    while (auto batch = loader.Next()) {
      for (const std::int64_t id : IdsOf(*batch)) read.ids.push_back(id);
      read.sums.push_back(SumOf(*batch));
      held.push_back(*std::move(batch));
      if (held.size() % 11 != 0) continue;
      daemon.Kill();
      daemon.Start();
    }
    CHECK(Sorted(read.ids) == Numbers(0, kSamples));
    if (order == FOREBAY_SHUFFLE) CHECK(read == expected);
    for (std::size_t i = 0; i < held.size(); ++i)
      CHECK(SumOf(held[i]) == read.sums[i]);
  }
}

TEST_CASE("A C++ program waits for a daemon that is away", "[cpp][restart]") {
  Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = Shuffled(daemon, pictures);
  forebay::Loader loader(options, RandomCrops());
  const Epoch expected = ReadEpoch(loader, 0);
  // The program waits in Next, or where it starts an epoch.
  for (const bool in_epoch : {true, false}) {
    CAPTURE(in_epoch);
    if (in_epoch) loader.StartEpoch(0);
    daemon.Kill();
    auto reader = std::async(std::launch::async, [&] {
      if (!in_epoch) loader.StartEpoch(0);
      return ReadRest(loader);
    });
    daemon.Start();
    CHECK(reader.get() == expected);
  }
}

TEST_CASE("A loader that is being opened waits for a daemon that is away",
          "[cpp][restart]") {
  Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = Shuffled(daemon, pictures);
  forebay_loader* loader = nullptr;
  REQUIRE(forebay_loader_create(&options, RandomCrops().get(), &loader) ==
          FOREBAY_OK);
  daemon.Kill();
  CHECK(forebay_loader_is_attached(loader) == 0);
  CHECK(forebay_loader_open(loader, 0.01) == FOREBAY_TIMEOUT);
  daemon.Start();
  CHECK(forebay_loader_open(loader, -1) == FOREBAY_OK);
  CHECK(forebay_loader_is_attached(loader) == 1);
  forebay_loader_free(loader);
}

TEST_CASE("A C++ program that does not wait is told that its daemon is gone",
          "[cpp][restart]") {
  Daemon daemon;
  const Pictures pictures;
  for (const double seconds : {0.0, 0.2}) {
    CAPTURE(seconds);
    forebay_loader_options options = Shuffled(daemon, pictures);
    options.reattach_seconds = seconds;
    forebay::Loader loader(options, WholePictures());
    const Epoch expected = ReadEpoch(loader, 0);
    loader.StartEpoch(0);
    const auto held = loader.Next();
    REQUIRE(held.has_value());
    daemon.Kill();
    // First the program gets the batches that are ready.
    std::size_t count = 1;
    const Failure failure = FailureOf([&] {
      while (const auto batch = loader.Next()) {
        if (SumOf(*batch) != expected.sums[count]) return;
        ++count;
      }
    });
    CHECK(failure.status == FOREBAY_UNAVAILABLE);
    CHECK_THAT(failure.text, Catch::Contains("daemon"));
    CHECK(count < kSamples);
    CHECK(FailureOf([&] { loader.Next(); }).status == FOREBAY_UNAVAILABLE);
    CHECK(FailureOf([&] { loader.stats(); }).status == FOREBAY_UNAVAILABLE);
    CHECK(FailureOf([&] { loader.StartEpoch(1); }).status ==
          FOREBAY_UNAVAILABLE);
    CHECK(SumOf(*held) == expected.sums[0]);
    CHECK(loader.info().dataset_size == kSamples);
    loader.Close();
    CHECK(SumOf(*held) == expected.sums[0]);
    daemon.Start();
  }
}

TEST_CASE("Reattach goes on with the next sample", "[cpp][restart]") {
  Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = Shuffled(daemon, pictures);
  options.reattach_seconds = 0;
  forebay_loader* const loader = OpenInC(options, RandomCrops());
  std::vector<std::int64_t> expected;
  std::vector<std::int64_t> ids;
  const auto read = [&](std::size_t most, std::vector<std::int64_t>* out) {
    forebay_batch* batch = nullptr;
    forebay_status status = FOREBAY_OK;
    for (std::size_t i = 0; i < most && status == FOREBAY_OK; ++i) {
      status = forebay_loader_next(loader, -1, &batch);
      if (status != FOREBAY_OK) break;
      const forebay::Batch owned(batch);
      for (const std::int64_t id : IdsOf(owned)) out->push_back(id);
    }
    return status;
  };
  REQUIRE(forebay_loader_start_epoch(loader, 0, 0) == FOREBAY_OK);
  REQUIRE(read(100, &expected) == FOREBAY_END_OF_EPOCH);
  REQUIRE(forebay_loader_start_epoch(loader, 0, 0) == FOREBAY_OK);
  for (int death = 0; death < 2; ++death) {
    REQUIRE(read(8, &ids) == FOREBAY_OK);
    CHECK(forebay_loader_is_attached(loader) == 1);
    daemon.Kill();
    CHECK(read(100, &ids) == FOREBAY_UNAVAILABLE);
    CHECK(forebay_loader_is_attached(loader) == 0);
    for (const double seconds : {0.0, 0.05}) {
      CHECK(forebay_loader_reattach(loader, seconds) == FOREBAY_UNAVAILABLE);
      CHECK_THAT(forebay_last_error(), Catch::Contains("daemon"));
    }
    daemon.Start();
    REQUIRE(forebay_loader_reattach(loader, -1) == FOREBAY_OK);
    CHECK(forebay_loader_is_attached(loader) == 1);
  }
  CHECK(read(100, &ids) == FOREBAY_END_OF_EPOCH);
  CHECK(ids == expected);
  forebay_loader_close(loader);
  CHECK(forebay_loader_is_attached(loader) == 0);
  CHECK(forebay_loader_reattach(loader, -1) == FOREBAY_FAILED_PRECONDITION);
  forebay_loader_free(loader);
}

TEST_CASE("A listed epoch goes on after a daemon's death", "[cpp][restart]") {
  Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = Shuffled(daemon, pictures);
  options.order = FOREBAY_LISTED;
  forebay_loader* const loader = OpenInC(options, RandomCrops());
  std::vector<std::int64_t> list = {7, 7, 7, 29, 0, 3, 7, 7, 12, 5, 29, 7};
  const std::vector<std::int64_t> expected = list;
  REQUIRE(forebay_loader_start_listed_epoch(loader, 0, list.data(), list.size(),
                                            0) == FOREBAY_OK);
  list.clear();
  std::vector<std::int64_t> ids;
  forebay_batch* batch = nullptr;
  while (forebay_loader_next(loader, -1, &batch) == FOREBAY_OK) {
    ids.push_back(IdsOf(forebay::Batch(batch)).at(0));
    if (ids.size() % 3 != 0) continue;
    daemon.Kill();
    daemon.Start();
  }
  CHECK(ids == expected);
  forebay_loader_free(loader);
}

TEST_CASE("A C++ program is told that its dataset changed while it was away",
          "[cpp][restart]") {
  Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(Shuffled(daemon, pictures), RandomCrops());
  loader.StartEpoch(0);
  CHECK(loader.Next().has_value());
  daemon.Kill();
  std::filesystem::remove(pictures.path() + "/" + Pictures::FileOf(3));
  daemon.Start();
  const Failure failure = FailureOf([&] { ReadRest(loader); });
  CHECK(failure.status == FOREBAY_FAILED_PRECONDITION);
  CHECK_THAT(failure.text, Catch::Contains(pictures.path()) &&
                               Catch::Contains("has changed") &&
                               Catch::Contains("open another"));
  for (int i = 0; i < 2; ++i) {
    CHECK(FailureOf([&] { loader.Next(); }).status ==
          FOREBAY_FAILED_PRECONDITION);
    CHECK(FailureOf([&] { loader.StartEpoch(0); }).status ==
          FOREBAY_FAILED_PRECONDITION);
  }
}

TEST_CASE("A loader's totals begin anew with the next daemon",
          "[cpp][restart]") {
  Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(Shuffled(daemon, pictures), RandomCrops());
  ReadEpoch(loader, 0);
  ReadEpoch(loader, 1);
  CHECK(loader.stats().samples_delivered == 2 * kSamples);
  daemon.Kill();
  daemon.Start();
  ReadEpoch(loader, 2);
  CHECK(loader.stats().samples_delivered == kSamples);
  CHECK(loader.stats().batches_delivered == kSamples);
}

// Starts an epoch of single samples, stops the daemon, and reads all samples
// that are ready. Returns their number.
std::size_t ReadUntilPaused(Daemon& daemon, forebay_loader* loader) {
  REQUIRE(forebay_loader_start_epoch(loader, 0, 0) == FOREBAY_OK);
  daemon.Pause();
  std::size_t read = 0;
  forebay_batch* batch = nullptr;
  forebay_status status;
  while ((status = forebay_loader_next(loader, 0, &batch)) == FOREBAY_OK) {
    forebay_batch_release(batch);
    ++read;
  }
  REQUIRE(status == FOREBAY_TIMEOUT);
  REQUIRE(read < kSamples);
  return read;
}

// A signal that arrives again and again, and interrupts calls without
// restarting them. Threads that are started while it lives block the signal.
class Alarms {
 public:
  Alarms() {
    while (sem_trywait(&Arrived()) == 0) continue;
    struct sigaction action = {};
    action.sa_handler = [](int) { sem_post(&Arrived()); };
    sigaction(SIGALRM, &action, &before_);
    Set(10'000);
  }
  ~Alarms() {
    Set(0);
    sigaction(SIGALRM, &before_, nullptr);
  }
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;

  // Waits for an alarm.
  static void Await() {
    while (sem_wait(&Arrived()) != 0) continue;
  }

 private:
  static sem_t& Arrived() {
    static sem_t arrived;
    [[maybe_unused]] static const int made = sem_init(&arrived, 0, 0);
    return arrived;
  }
  static void Set(suseconds_t micros) {
    const itimerval interval = {{0, micros}, {0, micros}};
    setitimer(ITIMER_REAL, &interval, nullptr);
  }

  struct sigaction before_ = {};
};

TEST_CASE("A wait for a batch ends in time and by a signal and goes on",
          "[cpp][restart]") {
  Daemon daemon;
  const Pictures pictures;
  forebay_loader* const loader =
      OpenInC(Shuffled(daemon, pictures), RandomCrops());
  std::size_t read = ReadUntilPaused(daemon, loader);
  forebay_batch* batch = nullptr;
  CHECK(forebay_loader_next(loader, 0.01, &batch) == FOREBAY_TIMEOUT);
  CHECK_FALSE(std::string(forebay_last_error()).empty());
  {
    const Alarms alarms;
    for (int i = 0; i < 3; ++i)
      CHECK(forebay_loader_next(loader, -1, &batch) == FOREBAY_INTERRUPTED);
  }
  CHECK(batch == nullptr);
  daemon.Resume();
  while (forebay_loader_next(loader, -1, &batch) == FOREBAY_OK) {
    forebay_batch_release(batch);
    ++read;
  }
  CHECK(read == kSamples);
  forebay_loader_free(loader);
}

TEST_CASE("A C++ program waits for the next batch across signals",
          "[cpp][restart]") {
  Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(Shuffled(daemon, pictures), RandomCrops());
  const Epoch expected = ReadEpoch(loader, 0);
  loader.StartEpoch(0);
  daemon.Pause();
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
  // The alarms must outlive the task that waits for them.
  const Alarms alarms;
  auto resumes = std::async(std::launch::async, [&] {
    for (int i = 0; i < 10; ++i) Alarms::Await();
    daemon.Resume();
  });
  pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
  CHECK(ReadRest(loader) == expected);
  // Signals also arrive while an epoch is started and a loader is opened.
  for (int i = 0; i < 3; ++i) {
    CHECK(ReadEpoch(loader, 0) == expected);
    forebay::Loader other(Shuffled(daemon, pictures), RandomCrops());
    CHECK(ReadEpoch(other, 0) == expected);
  }
  resumes.get();
}

TEST_CASE("A C++ loader closes although its daemon is gone or stands still",
          "[cpp][restart]") {
  Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = Shuffled(daemon, pictures);
  auto paused = std::make_unique<forebay::Loader>(options, WholePictures());
  auto orphaned = std::make_unique<forebay::Loader>(options, WholePictures());
  for (const auto* loader : {&paused, &orphaned}) (*loader)->StartEpoch(0);
  const auto of_paused = paused->Next();
  const auto of_orphaned = orphaned->Next();
  REQUIRE(of_paused.has_value());
  REQUIRE(of_orphaned.has_value());
  const std::uint32_t sum = SumOf(*of_paused);
  daemon.Pause();
  paused->Close();
  paused.reset();
  daemon.Kill();
  orphaned->Close();
  orphaned.reset();
  CHECK(SumOf(*of_paused) == sum);
  CHECK(SumOf(*of_orphaned) == sum);
}

}  // namespace
}  // namespace cpp_user
