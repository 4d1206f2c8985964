// A C++ program that forks.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <future>
#include <memory>

#include "client/forebay_reader.h"
#include "tests/catch/catch.h"
#include "tests/catch/child.h"
#include "tests/catch/skip.h"
#include "tests/integration/cpp/reading.h"
#include "tests/integration/cpp/set_at_end.h"

namespace cpp_user {
namespace {

using forebay::tests::ChildEnd;
using forebay::tests::HoldsInChild;
using forebay::tests::RunInChild;

TEST_CASE("A forked child is told that a loader is its parent's",
          "[cpp][fork]") {
  const Daemon daemon;
  const Pictures pictures;
  auto loader = std::make_unique<forebay::Loader>(OptionsFor(daemon, pictures),
                                                  WholePictures());
  loader->StartEpoch(0);
  const auto first = loader->Next();
  REQUIRE(first.has_value());
  const ChildEnd child = RunInChild([&] {
    const std::pair<const char*, Failure> all[] = {
        {"Next", FailureOf([&] { loader->Next(); })},
        {"StartEpoch", FailureOf([&] { loader->StartEpoch(1); })},
        {"StopEpoch", FailureOf([&] { loader->StopEpoch(); })},
        {"stats", FailureOf([&] { loader->stats(); })},
        {"info", FailureOf([&] { loader->info(); })},
        {"class_name", FailureOf([&] { loader->class_name(0); })},
    };
    for (const auto& [call, failure] : all) {
      CAPTURE(call);
      CHECK(failure.status == FOREBAY_FORKED);
      CHECK_THAT(failure.text, Catch::Contains("forked") &&
                                   Catch::Contains("open another here"));
    }
    loader->Close();
    loader.reset();
  });
  CHECK(child.status == 0);
  CHECK_THAT(child.err, Catch::Equals(""));
  // The parent goes on.
  CHECK(loader->stats().batches_held == 1);
  CHECK(ReadRest(*loader).ids == Numbers(4, kSamples));
  CHECK(IdsOf(*first) == Numbers(0, 4));
}

TEST_CASE("A forked child is told so by each function of the C interface",
          "[cpp][fork]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader* const loader = OpenInC(OptionsFor(daemon, pictures));
  const ChildEnd child = RunInChild([&] {
    forebay_batch* batch = nullptr;
    forebay_batch_view view = {};
    const std::int64_t list[] = {1};
    CHECK(forebay_loader_open(loader, -1) == FOREBAY_FORKED);
    CHECK(forebay_loader_next(loader, -1, &batch) == FOREBAY_FORKED);
    CHECK(forebay_loader_next_view(loader, -1, &view) == FOREBAY_FORKED);
    CHECK(forebay_loader_start_listed_epoch(loader, 0, list, 1, 0) ==
          FOREBAY_FORKED);
    CHECK(forebay_loader_reattach(loader, 0) == FOREBAY_FORKED);
    CHECK(forebay_loader_is_attached(loader) == 0);
    forebay_loader_close(loader);
    forebay_loader_close(loader);
    forebay_loader_free(loader);
  });
  CHECK(child.status == 0);
  CHECK_THAT(child.err, Catch::Equals(""));
  CHECK(forebay_loader_is_attached(loader) == 1);
  CHECK(forebay_loader_start_epoch(loader, 0, 0) == FOREBAY_OK);
  forebay_loader_free(loader);
}

TEST_CASE("A forked child is told that a reader is its parent's",
          "[cpp][fork]") {
  const Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = OptionsFor(daemon, pictures);
  forebay_reader* reader = nullptr;
  REQUIRE(forebay_reader_create(&options, WholePictures().get(), 1, &reader) ==
          FOREBAY_OK);
  REQUIRE(forebay_reader_open(reader, -1) == FOREBAY_OK);
  const ChildEnd child = RunInChild([&] {
    forebay_reader_info info;
    const char* text = nullptr;
    std::size_t length = 0;
    const std::int64_t sample = 0;
    CHECK(forebay_reader_get_info(reader, &info) == FOREBAY_FORKED);
    CHECK(forebay_reader_class_name(reader, 0, &text, &length) ==
          FOREBAY_FORKED);
    CHECK(forebay_reader_field_name(reader, 0, &text) == FOREBAY_FORKED);
    CHECK(forebay_reader_ask(reader, &sample, 1) == FOREBAY_FORKED);
    forebay_reader_free(reader);
  });
  CHECK(child.status == 0);
  CHECK_THAT(child.err, Catch::Equals(""));
  forebay_reader_info info;
  CHECK(forebay_reader_get_info(reader, &info) == FOREBAY_OK);
  CHECK(info.dataset_size == kSamples);
  forebay_reader_free(reader);
}

// A forked child that waits for a byte, and then tells whether `check` holds.
class WaitingChild {
 public:
  explicit WaitingChild(const std::function<bool()>& check) {
    REQUIRE(pipe(ends_) == 0);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ != 0) return;
    close(ends_[1]);
    alarm(60);  // so that a hang ends
    char word;
    const bool holds = HoldsInChild([&] {
      REQUIRE(read(ends_[0], &word, 1) == 1);
      CHECK(check());
    });
    _exit(holds ? 0 : 1);
  }
  // Sends the byte, and waits for the answer.
  bool Check() {
    REQUIRE(write(ends_[1], "x", 1) == 1);
    int status = -1;
    REQUIRE(waitpid(pid_, &status, 0) == pid_);
    close(ends_[0]);
    close(ends_[1]);
    return status == 0;
  }

 private:
  int ends_[2];
  pid_t pid_ = -1;
};

TEST_CASE("A forked child keeps the batches that its parent holds",
          "[cpp][fork]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.batch_size = 2;
  auto loader = std::make_unique<forebay::Loader>(options, WholePictures());
  loader->StartEpoch(0);
  // Some of the batches are leased, and the others are private copies.
  std::vector<forebay::Batch> held;
  std::vector<std::uint32_t> sums;
  for (int step = 0; step < 4; ++step) {
    held.push_back(loader->Next().value());
    sums.push_back(SumOf(held.back()));
  }
  const auto all_right = [&] {
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (SumOf(held[i]) != sums[i]) return false;
    }
    return true;
  };
  WaitingChild child([&] {
    if (!all_right()) return false;
    for (const forebay::Batch& batch : held) {
      const forebay_field image = batch.field(0);
      std::memset(image.data, 1, image.bytes);
    }
    held.clear();
    return true;
  });
  WaitingChild later(all_right);
  // The memory is reused while the children still have it mapped.
  CHECK(all_right());
  const std::vector<forebay::Batch> moved = std::move(held);
  held = {};
  std::vector<std::int64_t> ids = ReadRest(*loader).ids;
  CHECK(ids == Numbers(8, kSamples));
  for (const std::uint64_t epoch : {1, 2})
    CHECK(ReadEpoch(*loader, epoch).ids == Numbers(0, kSamples));
  CHECK(child.Check());
  for (std::size_t i = 0; i < moved.size(); ++i)
    CHECK(SumOf(moved[i]) == sums[i]);
  loader.reset();
  CHECK(later.Check());
}

TEST_CASE("A forked child has what its parent has released since",
          "[cpp][fork]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(OptionsFor(daemon, pictures), WholePictures());
  const Epoch expected = ReadEpoch(loader, 0);
  loader.StartEpoch(0);
  auto batch = loader.Next();
  REQUIRE(batch.has_value());
  WaitingChild child([&] { return SumOf(*batch) == expected.sums[0]; });
  batch.reset();
  for (const std::uint64_t epoch : {0, 1, 2})
    CHECK(ReadEpoch(loader, epoch).sums == expected.sums);
  CHECK(child.Check());
}

TEST_CASE("What a forked child drops is still its parent's", "[cpp][fork]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(OptionsFor(daemon, pictures), WholePictures());
  loader.StartEpoch(0);
  auto batch = loader.Next();
  REQUIRE(batch.has_value());
  const std::uint32_t sum = SumOf(*batch);
  const ChildEnd child = RunInChild([&] {
    CHECK(SumOf(*batch) == sum);
    batch.reset();
  });
  CHECK(child.status == 0);
  CHECK_THAT(child.err, Catch::Equals(""));
  CHECK(loader.stats().batches_held == 1);
  ReadRest(loader);
  CHECK(SumOf(*batch) == sum);
}

TEST_CASE("A forked child opens loaders of its own", "[cpp][fork]") {
  const Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = OptionsFor(daemon, pictures);
  forebay::Loader loader(options, RandomCrops());
  const Epoch expected = ReadEpoch(loader, 0);
  loader.StartEpoch(0);
  CHECK(loader.Next().has_value());
  const ChildEnd child = RunInChild([&] {
    forebay::Loader own(options, RandomCrops());
    CHECK(ReadEpoch(own, 0) == expected);
    own.StartEpoch(1);
    const ChildEnd grandchild = RunInChild([&] {
      CHECK(FailureOf([&] { own.Next(); }).status == FOREBAY_FORKED);
      CHECK(FailureOf([&] { loader.Next(); }).status == FOREBAY_FORKED);
    });
    CHECK(grandchild.status == 0);
    CHECK(ReadRest(own).ids == Numbers(0, kSamples));
  });
  CHECK(child.status == 0);
  CHECK_THAT(child.err, Catch::Equals(""));
  CHECK(ReadRest(loader).ids == Numbers(4, kSamples));
}

TEST_CASE("A fork beside threads that read leaves parent and child sound",
          "[cpp][fork]") {
#ifdef __SANITIZE_ADDRESS__
  SKIP("a fork may copy a lock of AddressSanitizer that another thread holds");
#endif
  const Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = OptionsFor(daemon, pictures);
  std::atomic<bool> done{false};
  const auto read = [&](forebay::Loader& loader) {
    std::size_t wrong = 0;
    for (std::uint64_t epoch = 0; !done.load(); ++epoch) {
      wrong += ReadEpoch(loader, epoch).ids.size() != kSamples;
      loader.stats();
    }
    return wrong;
  };
  std::vector<forebay::Loader> loaders;
  for (int i = 0; i < 2; ++i) loaders.emplace_back(options, RandomCrops());
  std::vector<std::future<std::size_t>> threads;
  for (forebay::Loader& loader : loaders)
    threads.push_back(std::async(std::launch::async, read, std::ref(loader)));
  // The threads must end before their futures do, even if something throws
  // here.
  const SetAtEnd at_end{done};
  for (int round = 0; round < 20; ++round) {
    const ChildEnd child = RunInChild([&] {
      alarm(60);  // so that a hang ends
      for (forebay::Loader& loader : loaders) {
        CHECK(FailureOf([&] { loader.Next(); }).status == FOREBAY_FORKED);
        CHECK(FailureOf([&] { loader.stats(); }).status == FOREBAY_FORKED);
        loader.Close();
      }
      loaders.clear();
      forebay::Loader own(options, RandomCrops());
      CHECK(ReadEpoch(own, 0).ids == Numbers(0, kSamples));
    });
    CHECK(child.status == 0);
    CHECK_THAT(child.err, Catch::Equals(""));
  }
  done.store(true);
  for (auto& thread : threads) CHECK(thread.get() == 0);
}

TEST_CASE("An error that was thrown before a fork is told in the child",
          "[cpp][fork]") {
  CHECK(forebay_ping("/nowhere") == FOREBAY_UNAVAILABLE);
  const std::string said = forebay_last_error();
  const ChildEnd child =
      RunInChild([&] { CHECK(forebay_last_error() == said); });
  CHECK(child.status == 0);
}

}  // namespace
}  // namespace cpp_user
