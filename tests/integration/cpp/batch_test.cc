// Batches and handles live as long as documented, and writes to a batch are
// private.

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "tests/catch/catch.h"
#include "tests/integration/cpp/reading.h"

namespace cpp_user {
namespace {

static_assert(std::is_copy_constructible_v<forebay::Batch>);
static_assert(std::is_copy_assignable_v<forebay::Batch>);
static_assert(std::is_nothrow_move_constructible_v<forebay::Batch>);
static_assert(!std::is_copy_constructible_v<forebay::Loader>);
static_assert(std::is_nothrow_move_constructible_v<forebay::Loader>);
static_assert(std::is_nothrow_move_assignable_v<forebay::Loader>);
static_assert(!std::is_copy_constructible_v<forebay::Pipeline>);
static_assert(std::is_nothrow_move_constructible_v<forebay::Pipeline>);
static_assert(std::is_nothrow_move_assignable_v<forebay::Pipeline>);
static_assert(std::is_base_of_v<std::runtime_error, forebay::Error>);

TEST_CASE("A C++ program may hold all batches of an epoch", "[cpp][batch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.batch_size = 2;
  forebay::Loader loader(options, WholePictures());
  const Epoch expected = ReadEpoch(loader, 0);
  const std::uint64_t copied_before = loader.stats().batches_copied;
  loader.StartEpoch(0);
  std::vector<forebay::Batch> held;
  while (auto batch = loader.Next()) held.push_back(*std::move(batch));
  REQUIRE(held.size() == 15);

  // Some batches are leased, and the others are private copies.
  std::uint64_t leased = 0;
  std::uint64_t copies = 0;
  for (const forebay::Batch& batch : held)
    ++(batch.info().is_copy != 0 ? copies : leased);
  CHECK(leased > 0);
  CHECK(copies > 0);
  CHECK(held.front().info().is_copy == 0);
  CHECK(held.back().info().is_copy == 1);
  const forebay_loader_stats stats = loader.stats();
  CHECK(stats.batches_held == leased);
  CHECK(stats.batches_copied - copied_before == copies);

  // All batches keep their bytes while the loader goes on reading.
  for (const std::uint64_t epoch : {1, 2}) ReadEpoch(loader, epoch);
  for (std::size_t i = 0; i < held.size(); ++i) {
    CAPTURE(i);
    CHECK(SumOf(held[i]) == expected.sums[i]);
    for (std::uint32_t field = 0; field < 3; ++field)
      CHECK(reinterpret_cast<std::uintptr_t>(held[i].field(field).data) %
                4096 ==
            0);
  }

  // Once a leased batch is dropped, the next batch is leased again.
  held.clear();
  CHECK(loader.stats().batches_held == 0);
  loader.StartEpoch(3);
  CHECK(loader.Next().value().info().is_copy == 0);
}

TEST_CASE("A C++ batch outlives its loader and the daemon", "[cpp][batch]") {
  const Pictures pictures;
  std::vector<forebay::Batch> held;
  std::vector<std::uint32_t> sums;
  {
    const Daemon daemon;
    {
      forebay_loader_options options = OptionsFor(daemon, pictures);
      forebay::Loader loader(options, WholePictures());
      loader.StartEpoch(0);
      // There are more of these batches than the loader may hold.
      for (int step = 0; step < 5; ++step) {
        held.push_back(loader.Next().value());
        sums.push_back(SumOf(held.back()));
      }
      loader.Close();
      for (std::size_t i = 0; i < held.size(); ++i)
        CHECK(SumOf(held[i]) == sums[i]);
    }
    // Another loader reuses the daemon's memory.
    forebay::Loader other(OptionsFor(daemon, pictures), WholePictures());
    ReadEpoch(other, 1);
    for (std::size_t i = 0; i < held.size(); ++i)
      CHECK(SumOf(held[i]) == sums[i]);
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    CHECK(SumOf(held[i]) == sums[i]);
    const forebay_field image = held[i].field("image");
    std::memset(image.data, 1, image.bytes);
  }
}

TEST_CASE("Copies of a C++ batch share its lease", "[cpp][batch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(OptionsFor(daemon, pictures), WholePictures());
  loader.StartEpoch(0);
  auto first = loader.Next();
  REQUIRE(first.has_value());
  const std::uint32_t sum = SumOf(*first);
  CHECK(loader.stats().batches_held == 1);
  auto copy = std::make_unique<forebay::Batch>(*first);
  forebay::Batch moved = *std::exchange(first, std::nullopt);
  CHECK(loader.stats().batches_held == 1);
  CHECK(copy->field(0).data == moved.field(0).data);
  moved = *copy;
  copy.reset();
  ReadRest(loader);
  CHECK(loader.stats().batches_held == 1);
  CHECK(SumOf(moved) == sum);
}

TEST_CASE("A C++ batch that was moved from is empty", "[cpp][batch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(OptionsFor(daemon, pictures), WholePictures());
  loader.StartEpoch(0);
  forebay::Batch from = loader.Next().value();
  const forebay::Batch to = std::move(from);
  // NOLINTNEXTLINE(bugprone-use-after-move): what is left is the subject.
  CHECK(from.size() == 0);
  const Failure failure = FailureOf([&] { from.field("image"); });
  CHECK(failure.status == FOREBAY_NOT_FOUND);
  CHECK(FailureOf([&] { from.field(0); }).status == FOREBAY_INVALID_ARGUMENT);
  CHECK(to.size() > 0);
}

TEST_CASE("C functions take the handles of C++ objects", "[cpp][batch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(OptionsFor(daemon, pictures), WholePictures());
  CHECK(forebay_loader_is_attached(loader.get()) == 1);
  loader.StartEpoch(0);
  const forebay::Batch batch = loader.Next().value();
  CHECK(forebay_batch_place(batch.get(), 0) == FOREBAY_HOST);
}

TEST_CASE("The last owner of a C batch ends its lease", "[cpp][batch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader* const loader = OpenInC(OptionsFor(daemon, pictures));
  REQUIRE(forebay_loader_start_epoch(loader, 0, 0) == FOREBAY_OK);
  forebay_batch* batch = nullptr;
  REQUIRE(forebay_loader_next(loader, -1, &batch) == FOREBAY_OK);
  forebay_batch_retain(batch);
  forebay_batch_retain(batch);
  forebay_loader_stats stats;
  for (const std::uint64_t held : {1, 1, 0}) {
    forebay_batch_release(batch);
    REQUIRE(forebay_loader_get_stats(loader, &stats) == FOREBAY_OK);
    CHECK(stats.batches_held == held);
  }
  forebay_batch_release(nullptr);
  // A batch outlives the loader that gave it.
  REQUIRE(forebay_loader_next(loader, -1, &batch) == FOREBAY_OK);
  forebay_loader_free(loader);
  forebay_field field;
  REQUIRE(forebay_batch_field(batch, 0, &field) == FOREBAY_OK);
  CHECK(field.bytes == 4 * kPictureBytes);
  forebay_batch_release(batch);
}

TEST_CASE("Only a C++ program itself sees what it writes to a batch",
          "[cpp][batch]") {
  const Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = OptionsFor(daemon, pictures);
  forebay::Loader writer(options, WholePictures());
  forebay::Loader reader(options, WholePictures());
  const Epoch expected = ReadEpoch(reader, 0);
  for (int round = 0; round < 3; ++round) {
    writer.StartEpoch(0);
    reader.StartEpoch(0);
    for (std::size_t step = 0; step < expected.sums.size(); ++step) {
      const auto mine = writer.Next();
      const auto theirs = reader.Next();
      REQUIRE(mine.has_value());
      REQUIRE(theirs.has_value());
      // Earlier writes of this program are no longer there.
      CHECK(SumOf(*mine) == expected.sums[step]);
      for (std::uint32_t i = 0; i < 3; ++i) {
        const forebay_field field = mine->field(i);
        std::memset(field.data, 0x5a, field.bytes);
      }
      CHECK(SumOf(*theirs) == expected.sums[step]);
      CHECK(static_cast<const std::uint8_t*>(mine->field(0).data)[7] == 0x5a);
    }
  }
}

TEST_CASE("A C++ loader may be moved in mid-epoch", "[cpp][batch]") {
  const Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = OptionsFor(daemon, pictures);
  forebay::Loader first(options, WholePictures());
  first.StartEpoch(0);
  const auto batch = first.Next();
  REQUIRE(batch.has_value());
  const std::uint32_t sum = SumOf(*batch);
  forebay::Loader second = std::move(first);
  CHECK(IdsOf(second.Next().value()) == Numbers(4, 8));
  // The assignment closes a loader in mid-epoch.
  forebay::Loader third(options, RandomCrops());
  third.StartEpoch(0);
  const auto cropped = third.Next();
  REQUIRE(cropped.has_value());
  const std::uint32_t cropped_sum = SumOf(*cropped);
  third = std::move(second);
  CHECK(ReadRest(third).ids == Numbers(8, kSamples));
  CHECK(SumOf(*batch) == sum);
  CHECK(SumOf(*cropped) == cropped_sum);
  // A loader that was moved from may get a new value.
  second = forebay::Loader(options, WholePictures());
  CHECK(ReadEpoch(second, 0).ids == Numbers(0, kSamples));
}

TEST_CASE("A C++ loader that was moved from refuses each call",
          "[cpp][batch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(OptionsFor(daemon, pictures), WholePictures());
  const forebay::Loader owner = std::move(loader);
  // NOLINTBEGIN(bugprone-use-after-move): this is what is tested
  for (const Failure& failure :
       {FailureOf([&] { loader.info(); }), FailureOf([&] { loader.stats(); }),
        FailureOf([&] { loader.class_name(0); }),
        FailureOf([&] { loader.StartEpoch(0); }),
        FailureOf([&] { loader.StopEpoch(); }),
        FailureOf([&] { loader.Next(); })}) {
    CHECK(failure.status == FOREBAY_INVALID_ARGUMENT);
    CHECK_FALSE(failure.text.empty());
  }
  CHECK(loader.refusal().empty());
  loader.Close();
  // NOLINTEND(bugprone-use-after-move)
  CHECK(owner.info().dataset_size == kSamples);
}

TEST_CASE("C++ handles may be destroyed in any order", "[cpp][batch]") {
  const Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = OptionsFor(daemon, pictures);
  auto pipeline = std::make_unique<forebay::Pipeline>(WholePictures());
  forebay::Pipeline moved = std::move(*pipeline);
  auto one = std::make_unique<forebay::Loader>(options, moved);
  auto two = std::make_unique<forebay::Loader>(options, moved);
  pipeline.reset();
  moved = forebay::Pipeline();
  one->StartEpoch(0);
  two->StartEpoch(0);
  auto of_one = one->Next();
  auto of_two = two->Next();
  REQUIRE(of_one.has_value());
  REQUIRE(of_two.has_value());
  const std::uint32_t sum = SumOf(*of_one);
  one.reset();
  CHECK(SumOf(*of_one) == sum);
  CHECK(SumOf(*of_two) == sum);
  of_two.reset();
  CHECK(ReadRest(*two).ids == Numbers(4, kSamples));
  two.reset();
  CHECK(SumOf(*of_one) == sum);
  of_one.reset();
  forebay::Loader later(options, WholePictures());
  CHECK(ReadEpoch(later, 0).ids == Numbers(0, kSamples));
}

TEST_CASE("A C++ loader that is closed says so", "[cpp][batch]") {
  const Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = OptionsFor(daemon, pictures);
  forebay::Loader loader(options, WholePictures());
  forebay::Loader other(options, WholePictures());
  other.StartEpoch(0);
  loader.StartEpoch(0);
  const auto batch = loader.Next();
  REQUIRE(batch.has_value());
  const std::uint32_t sum = SumOf(*batch);
  for (int times = 0; times < 2; ++times) {
    loader.Close();
    for (const Failure& failure : {FailureOf([&] { loader.Next(); }),
                                   FailureOf([&] { loader.StartEpoch(1); }),
                                   FailureOf([&] { loader.StopEpoch(); }),
                                   FailureOf([&] { loader.stats(); })}) {
      CHECK(failure.status == FOREBAY_FAILED_PRECONDITION);
      CHECK_THAT(failure.text, Catch::Contains("closed"));
    }
  }
  // The loader still knows its dataset.
  CHECK(loader.info().dataset_size == kSamples);
  CHECK(loader.class_name(1) == "birch");
  CHECK(SumOf(*batch) == sum);
  CHECK(ReadRest(other).ids == Numbers(0, kSamples));
}

// The open descriptors of this process.
std::vector<int> Descriptors() {
  std::vector<int> all;
  for (int fd = 0; fd < 1024; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) all.push_back(fd);
  }
  return all;
}

TEST_CASE("Loaders leave no descriptor behind and none to another program",
          "[cpp][batch]") {
  const Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = OptionsFor(daemon, pictures);
  forebay_loader_options wrong = options;
  wrong.batch_size = 0;
  // The library keeps some descriptors from the first use on.
  OpeningOf(options);
  const std::vector<int> before = Descriptors();
  for (int round = 0; round < 5; ++round) {
    CHECK(OpeningOf(wrong).status == FOREBAY_INVALID_ARGUMENT);
    forebay::Loader loader(options, RandomCrops());
    for (const std::uint64_t epoch : {0, 1}) ReadEpoch(loader, epoch);
    loader.StartEpoch(0);
    const auto batch = loader.Next();
    for (const int fd : Descriptors()) {
      const bool is_new =
          std::find(before.begin(), before.end(), fd) == before.end();
      // A descriptor without FD_CLOEXEC would survive an exec.
      if (is_new) CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    }
  }
  CHECK(Descriptors() == before);
}

TEST_CASE("Loaders that come and go leave a C++ program as it was",
          "[cpp][batch]") {
  const Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = OptionsFor(daemon, pictures);
  forebay::Loader stays(options, WholePictures());
  stays.StartEpoch(0);
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    forebay::Loader goes(options, RandomCrops());
    // The destructor runs before an epoch, in an epoch, and with batches held.
    if (round % 4 == 0) continue;
    goes.StartEpoch(0);
    if (round % 4 == 1) continue;
    auto batch = goes.Next();
    if (round % 4 == 2) goes.Close();
  }
  CHECK(ReadRest(stays).ids == Numbers(0, kSamples));
}

}  // namespace
}  // namespace cpp_user
