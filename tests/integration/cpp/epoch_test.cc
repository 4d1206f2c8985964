// The samples of an epoch, and their order.

#include <algorithm>

#include "tests/catch/catch.h"
#include "tests/integration/cpp/reading.h"

namespace cpp_user {
namespace {

TEST_CASE("A C++ loader in sequence gives the samples in their order",
          "[cpp][epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(OptionsFor(daemon, pictures), WholePictures());
  for (const std::uint64_t epoch : {0, 1, 7}) {
    loader.StartEpoch(epoch);
    std::vector<std::int64_t> ids;
    while (const auto batch = loader.Next()) {
      CHECK(batch->info().epoch == epoch);
      CHECK(batch->info().first_sample == ids.size());
      CHECK(batch->size() == (ids.size() < 28 ? 4 : 2));
      for (const std::int64_t id : IdsOf(*batch)) ids.push_back(id);
    }
    CHECK(ids == Numbers(0, kSamples));
  }
  const forebay_loader_stats stats = loader.stats();
  CHECK(stats.samples_delivered == 3 * kSamples);
  CHECK(stats.batches_delivered == 3 * 8);
  CHECK(stats.bytes_delivered >= 3 * kSamples * kPictureBytes);
  CHECK(stats.bytes_read > 0);
  CHECK(stats.samples_decoded > 0);
  CHECK(stats.samples_substituted == 0);
  CHECK(stats.cpu_nanos > 0);
}

TEST_CASE("A C++ loader that shuffles gives each sample once an epoch",
          "[cpp][epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  for (const forebay_order order :
       {FOREBAY_SHUFFLE, FOREBAY_BLOCK_SHUFFLE, FOREBAY_COORDINATED}) {
    CAPTURE(order);
    options.order = order;
    forebay::Loader loader(options, RandomCrops());
    const Epoch first = ReadEpoch(loader, 0);
    const Epoch second = ReadEpoch(loader, 1);
    CHECK(Sorted(first.ids) == Numbers(0, kSamples));
    CHECK(Sorted(second.ids) == Numbers(0, kSamples));
    CHECK(first.ids != Numbers(0, kSamples));
    CHECK(second.ids != first.ids);
    if (order != FOREBAY_COORDINATED) CHECK(ReadEpoch(loader, 0) == first);
  }
}

TEST_CASE("C++ loaders with one seed agree on order and pixels",
          "[cpp][epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.order = FOREBAY_SHUFFLE;
  options.seed = 11;
  forebay::Loader one(options, RandomCrops());
  forebay::Loader two(options, RandomCrops());
  options.sharing = FOREBAY_ALONE;
  forebay::Loader alone(options, RandomCrops());
  options.seed = 12;
  forebay::Loader other(options, RandomCrops());
  const Epoch epoch = ReadEpoch(one, 0);
  CHECK(ReadEpoch(two, 0) == epoch);
  CHECK(ReadEpoch(alone, 0) == epoch);
  const Epoch of_other = ReadEpoch(other, 0);
  CHECK(of_other.ids != epoch.ids);
  CHECK(of_other.sums != epoch.sums);
}

TEST_CASE("A C++ loader starts an epoch behind the samples that were seen",
          "[cpp][epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.order = FOREBAY_SHUFFLE;
  options.batch_size = 5;
  forebay::Loader loader(options, RandomCrops());
  const Epoch whole = ReadEpoch(loader, 2);
  for (std::uint64_t first = 0; first <= kSamples; ++first) {
    CAPTURE(first);
    const Epoch rest = ReadEpoch(loader, 2, first);
    CHECK(rest.ids ==
          std::vector<std::int64_t>(whole.ids.begin() + static_cast<int>(first),
                                    whole.ids.end()));
    if (first % 5 == 0)
      CHECK(rest.sums == std::vector<std::uint32_t>(
                             whole.sums.begin() + static_cast<int>(first / 5),
                             whole.sums.end()));
  }
  const Failure behind = FailureOf([&] { loader.StartEpoch(2, kSamples + 1); });
  CHECK(behind.status == FOREBAY_INVALID_ARGUMENT);
  CHECK_THAT(behind.text, Catch::Contains("31"));
}

TEST_CASE("A C++ program goes on where a batch that it kept ended",
          "[cpp][epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.order = FOREBAY_SHUFFLE;
  std::vector<std::int64_t> ids;
  forebay_batch_info last = {};
  {
    forebay::Loader loader(options, RandomCrops());
    loader.StartEpoch(4);
    for (int step = 0; step < 3; ++step) {
      const auto batch = loader.Next();
      REQUIRE(batch.has_value());
      for (const std::int64_t id : IdsOf(*batch)) ids.push_back(id);
      last = batch->info();
    }
  }
  forebay::Loader later(options, RandomCrops());
  const Epoch rest =
      ReadEpoch(later, last.epoch, last.first_sample + last.sample_count);
  ids.insert(ids.end(), rest.ids.begin(), rest.ids.end());
  CHECK(ids == ReadEpoch(later, 4).ids);
}

TEST_CASE("C++ loaders of several ranks divide an epoch by the given rule",
          "[cpp][epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.order = FOREBAY_SHUFFLE;
  options.world_size = 4;
  const std::pair<forebay_uneven, std::vector<std::size_t>> rules[] = {
      {FOREBAY_WRAP, {8, 8, 8, 8}},
      {FOREBAY_DROP, {7, 7, 7, 7}},
      {FOREBAY_EACH_ONCE, {8, 8, 7, 7}}};
  for (const auto& [uneven, sizes] : rules) {
    CAPTURE(uneven);
    options.uneven = uneven;
    std::vector<std::int64_t> all;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      options.rank = rank;
      forebay::Loader loader(options, RandomCrops());
      const Epoch part = ReadEpoch(loader, 0);
      CHECK(part.ids.size() == sizes[rank]);
      CHECK(loader.info().samples_per_epoch == sizes[rank]);
      CHECK(loader.info().batches_per_epoch == 2);
      CHECK(loader.info().dataset_size == kSamples);
      all.insert(all.end(), part.ids.begin(), part.ids.end());
    }
    std::vector<std::int64_t> each = Sorted(all);
    each.erase(std::unique(each.begin(), each.end()), each.end());
    CHECK(each.size() == (uneven == FOREBAY_DROP ? 28 : kSamples));
    if (uneven == FOREBAY_EACH_ONCE) CHECK(all.size() == kSamples);
  }
}

TEST_CASE("A C++ loader leaves out a smaller last batch if it is told to",
          "[cpp][epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.drop_last = 1;
  forebay::Loader loader(options, RandomCrops());
  const Epoch epoch = ReadEpoch(loader, 0);
  CHECK(epoch.ids == Numbers(0, 28));
  CHECK(epoch.sums.size() == loader.info().batches_per_epoch);
}

TEST_CASE("A C++ loader tells an epoch's end until another is started",
          "[cpp][epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(OptionsFor(daemon, pictures), RandomCrops());
  CHECK(ReadEpoch(loader, 0).ids.size() == kSamples);
  for (int i = 0; i < 3; ++i) CHECK_FALSE(loader.Next().has_value());
  CHECK(ReadEpoch(loader, 1).ids.size() == kSamples);
}

TEST_CASE("A C++ loader that starts an epoch abandons the one under way",
          "[cpp][epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.order = FOREBAY_SHUFFLE;
  forebay::Loader loader(options, RandomCrops());
  const Epoch first = ReadEpoch(loader, 0);
  const Epoch second = ReadEpoch(loader, 1);
  for (int steps = 0; steps < 6; ++steps) {
    loader.StartEpoch(0);
    for (int step = 0; step < steps; ++step) CHECK(loader.Next().has_value());
    CHECK(ReadEpoch(loader, 1) == second);
  }
  loader.StartEpoch(1);
  CHECK(loader.Next().has_value());
  CHECK(ReadEpoch(loader, 1) == second);
  CHECK(ReadEpoch(loader, 0) == first);
}

TEST_CASE("A C++ loader that stops an epoch keeps the batches that it gave",
          "[cpp][epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(OptionsFor(daemon, pictures), WholePictures());
  // Here there is no epoch to stop.
  loader.StopEpoch();
  loader.StartEpoch(0);
  const auto batch = loader.Next();
  REQUIRE(batch.has_value());
  const std::uint32_t sum = SumOf(*batch);
  loader.StopEpoch();
  loader.StopEpoch();
  CHECK_FALSE(loader.Next().has_value());
  CHECK(ReadEpoch(loader, 1).ids == Numbers(0, kSamples));
  CHECK(SumOf(*batch) == sum);
}

TEST_CASE("A C++ program is told that an epoch's number is too large",
          "[cpp][epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(OptionsFor(daemon, pictures), RandomCrops());
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 63;
  for (const std::uint64_t number : {kEnd, ~std::uint64_t{0}}) {
    const Failure epoch = FailureOf([&] { loader.StartEpoch(number); });
    CHECK(epoch.status == FOREBAY_INVALID_ARGUMENT);
    CHECK_THAT(epoch.text, Catch::Contains(std::to_string(number)));
    const Failure sample = FailureOf([&] { loader.StartEpoch(0, number); });
    CHECK(sample.status == FOREBAY_INVALID_ARGUMENT);
    CHECK_THAT(sample.text, Catch::Contains(std::to_string(number)));
  }
  CHECK(ReadEpoch(loader, kEnd - 1).ids == Numbers(0, kSamples));
}

TEST_CASE("A C++ loader whose epoch was refused goes on with the next",
          "[cpp][epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(OptionsFor(daemon, pictures), RandomCrops());
  loader.StartEpoch(0);
  CHECK(loader.Next().has_value());
  CHECK(FailureOf([&] { loader.StartEpoch(1, 1000); }).status ==
        FOREBAY_INVALID_ARGUMENT);
  // Without a started epoch, the loader gives no batch.
  for (int i = 0; i < 2; ++i)
    CHECK(FailureOf([&] { loader.Next(); }).status == FOREBAY_INVALID_ARGUMENT);
  CHECK(ReadEpoch(loader, 2).ids == Numbers(0, kSamples));
}

}  // namespace
}  // namespace cpp_user
