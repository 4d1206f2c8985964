// Epochs started by functions that only the C interface has.

#include <algorithm>

#include "tests/catch/catch.h"
#include "tests/integration/cpp/reading.h"

namespace cpp_user {
namespace {

// Returns the remaining samples of a C loader's epoch.
std::vector<std::int64_t> RestInC(forebay_loader* loader) {
  std::vector<std::int64_t> ids;
  forebay_batch* batch = nullptr;
  forebay_status status;
  while ((status = forebay_loader_next(loader, -1, &batch)) == FOREBAY_OK) {
    const forebay::Batch owned(batch);
    for (const std::int64_t id : IdsOf(owned)) ids.push_back(id);
  }
  CHECK(status == FOREBAY_END_OF_EPOCH);
  return ids;
}

TEST_CASE("A listed epoch gives the samples of its list", "[cpp][c_epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.order = FOREBAY_LISTED;
  forebay_loader* const loader = OpenInC(options, RandomCrops());
  forebay_loader_info info;
  REQUIRE(forebay_loader_get_info(loader, &info) == FOREBAY_OK);
  CHECK(info.samples_per_epoch == 0);
  const std::vector<std::int64_t> lists[] = {
      {5, 5, 29, 0, 5, 7, 1}, {2}, {}, {8, 9, 10, 11}};
  for (const std::vector<std::int64_t>& list : lists) {
    for (std::size_t first = 0; first <= list.size(); ++first) {
      auto given = list;
      REQUIRE(forebay_loader_start_listed_epoch(
                  loader, 0, given.data(), given.size(), first) == FOREBAY_OK);
      // The library has copied the list.
      std::fill(given.begin(), given.end(), 3);
      CHECK(RestInC(loader) ==
            std::vector<std::int64_t>(
                list.begin() + static_cast<std::ptrdiff_t>(first), list.end()));
    }
  }
  for (const std::int64_t outside :
       {std::int64_t{-1}, std::int64_t{30}, INT64_MAX}) {
    CHECK(forebay_loader_start_listed_epoch(loader, 0, &outside, 1, 0) ==
          FOREBAY_INVALID_ARGUMENT);
    CHECK_THAT(forebay_last_error(),
               Catch::Contains(pictures.path()) || Catch::Contains("30"));
  }
  // An epoch of a loader in listed order needs a list.
  CHECK(forebay_loader_start_epoch(loader, 0, 0) == FOREBAY_INVALID_ARGUMENT);
  CHECK_THAT(forebay_last_error(), Catch::Contains("list"));
  forebay_loader_free(loader);
}

TEST_CASE("A list is refused by a loader whose order is not listed",
          "[cpp][c_epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader* const loader = OpenInC(OptionsFor(daemon, pictures));
  const std::int64_t list[] = {1, 2};
  CHECK(forebay_loader_start_listed_epoch(loader, 0, list, 2, 0) ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK_THAT(forebay_last_error(), Catch::Contains("list"));
  forebay_loader_free(loader);
}

TEST_CASE("A loader in coordinated order goes on with all samples not yet seen",
          "[cpp][c_epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.order = FOREBAY_COORDINATED;
  forebay_loader* const loader = OpenInC(options, RandomCrops());
  const std::vector<std::int64_t> seen = {29, 3, 11, 4, 17};
  REQUIRE(forebay_loader_start_listed_epoch(loader, 5, seen.data(), seen.size(),
                                            seen.size()) == FOREBAY_OK);
  std::vector<std::int64_t> ids = RestInC(loader);
  CHECK(ids.size() == kSamples - seen.size());
  ids.insert(ids.end(), seen.begin(), seen.end());
  CHECK(Sorted(ids) == Numbers(0, kSamples));
  forebay_loader_free(loader);
}

TEST_CASE("A loader in coordinated order refuses what it cannot have seen",
          "[cpp][c_epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.order = FOREBAY_COORDINATED;
  forebay_loader* const loader = OpenInC(options, RandomCrops());
  const std::vector<std::int64_t> twice = {3, 3};
  const std::vector<std::int64_t> outside = {3, 30};
  const std::vector<std::int64_t> two = {3, 4};
  for (const auto& [seen, first] :
       {std::pair(twice, 2), std::pair(outside, 2), std::pair(two, 1),
        std::pair(two, 3), std::pair(std::vector<std::int64_t>(), 5)}) {
    CAPTURE(seen, first);
    CHECK(forebay_loader_start_listed_epoch(
              loader, 0, seen.data(), seen.size(),
              static_cast<std::uint64_t>(first)) == FOREBAY_INVALID_ARGUMENT);
    CHECK_FALSE(std::string(forebay_last_error()).empty());
  }
  CHECK(forebay_loader_start_epoch(loader, 0, 5) == FOREBAY_INVALID_ARGUMENT);
  REQUIRE(forebay_loader_start_epoch(loader, 0, 0) == FOREBAY_OK);
  CHECK(Sorted(RestInC(loader)) == Numbers(0, kSamples));
  forebay_loader_free(loader);
}

TEST_CASE("Each start of an epoch has another number", "[cpp][c_epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader* const loader = OpenInC(OptionsFor(daemon, pictures));
  CHECK(forebay_loader_iteration(loader) == 0);
  std::uint64_t before = 0;
  for (const std::uint64_t epoch : {0, 0, 1}) {
    REQUIRE(forebay_loader_start_epoch(loader, epoch, 0) == FOREBAY_OK);
    CHECK(forebay_loader_iteration(loader) != before);
    before = forebay_loader_iteration(loader);
  }
  forebay_loader_free(loader);
}

TEST_CASE("A view of the next batch tells what is in it", "[cpp][c_epoch]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.batch_size = 8;
  forebay_loader* const loader = OpenInC(options);
  REQUIRE(forebay_loader_start_epoch(loader, 0, 3) == FOREBAY_OK);
  forebay_batch_view view = {};
  view.iteration = forebay_loader_iteration(loader);
  std::uint64_t next = 3;
  std::uint64_t layout = 0;
  for (int step = 0; step < 4; ++step) {
    REQUIRE(forebay_loader_next_view(loader, -1, &view) == FOREBAY_OK);
    const forebay::Batch batch(view.batch);
    CHECK(view.info.first_sample == next);
    CHECK(view.info.sample_count == batch.size());
    next += batch.size();
    CHECK(view.next_sample == next);
    // The last batch is smaller than the others.
    if (step == 0 || step == 3) {
      CHECK(view.layout > layout);
    } else {
      CHECK(view.layout == layout);
    }
    layout = view.layout;
    REQUIRE(view.info.field_count == 3);
    for (std::uint32_t i = 0; i < 3; ++i) {
      const forebay_field field = batch.field(i);
      const forebay_field_layout& at = view.fields[i];
      CHECK(at.name == std::string(field.name));
      CHECK(at.kind == field.kind);
      CHECK(at.dtype == field.dtype);
      CHECK(at.place == FOREBAY_HOST);
      REQUIRE(at.rank == field.rank);
      CHECK(std::equal(at.shape, at.shape + at.rank, field.shape));
      CHECK(static_cast<char*>(view.data) + at.offset == field.data);
      CHECK(at.bytes == field.bytes);
      CHECK(at.offset + at.bytes <= view.bytes);
      CHECK(at.row_splits_offset == 0);
    }
  }
  const forebay_batch_view before = view;
  CHECK(forebay_loader_next_view(loader, -1, &view) == FOREBAY_END_OF_EPOCH);
  CHECK(view.batch == before.batch);
  CHECK(view.next_sample == before.next_sample);
  CHECK(view.layout == before.layout);

  // A caller that names an earlier iteration gets no batch of the next one.
  REQUIRE(forebay_loader_start_epoch(loader, 1, 0) == FOREBAY_OK);
  CHECK(forebay_loader_next_view(loader, -1, &view) ==
        FOREBAY_FAILED_PRECONDITION);
  CHECK_THAT(forebay_last_error(), Catch::Contains("iteration"));
  view.iteration = 0;
  REQUIRE(forebay_loader_next_view(loader, -1, &view) == FOREBAY_OK);
  CHECK(view.info.epoch == 1);
  CHECK(view.info.first_sample == 0);
  forebay_batch_release(view.batch);
  forebay_loader_free(loader);
}

}  // namespace
}  // namespace cpp_user
