// Unusable samples, and the contract of Error.

#include <filesystem>
#include <fstream>

#include "tests/catch/catch.h"
#include "tests/integration/cpp/reading.h"

namespace cpp_user {
namespace {

TEST_CASE(
    "A broken sample ends a C++ program's epoch with an error that names it",
    "[cpp][errors]") {
  const Daemon daemon;
  const Pictures pictures;
  pictures.Spoil(13);
  const forebay_loader_options options = OptionsFor(daemon, pictures);
  forebay::Loader loader(options, WholePictures());
  for (int round = 0; round < 2; ++round) {
    loader.StartEpoch(0);
    std::vector<std::int64_t> ids;
    const Failure failure = FailureOf([&] {
      while (const auto batch = loader.Next()) {
        for (const std::int64_t id : IdsOf(*batch)) ids.push_back(id);
      }
    });
    // No earlier batch is lost.
    CHECK(ids == Numbers(0, 12));
    CHECK(failure.status == FOREBAY_DATA_ERROR);
    CHECK_THAT(failure.text,
               Catch::StartsWith("sample 13 of " + pictures.path() + ": " +
                                 Pictures::FileOf(13) + ": "));
    CHECK_THAT(failure.text, Catch::Contains("text"));
    for (int again = 0; again < 2; ++again) {
      const Failure later = FailureOf([&] { loader.Next(); });
      CHECK(later.status == FOREBAY_DATA_ERROR);
      CHECK(later.text == failure.text);
    }
  }
  CHECK(ReadEpoch(loader, 0, 14).ids == Numbers(14, kSamples));
  // The error affects only this loader.
  forebay::Loader other(options, WholePictures());
  CHECK(ReadEpoch(other, 0, 20).ids == Numbers(20, kSamples));
}

TEST_CASE("A C++ loader substitutes broken samples and counts them",
          "[cpp][errors]") {
  const Daemon daemon;
  const Pictures pictures;
  pictures.Spoil(13);
  pictures.Spoil(28);
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.on_error = FOREBAY_SUBSTITUTE;
  options.order = FOREBAY_SHUFFLE;
  forebay::Loader loader(options, RandomCrops());
  const Epoch epoch = ReadEpoch(loader, 0);
  CHECK(epoch.ids.size() == kSamples);
  CHECK(loader.stats().samples_substituted == 2);
  CHECK(loader.stats().samples_delivered == kSamples);
  // The substitutes are the same in every run.
  options.sharing = FOREBAY_ALONE;
  forebay::Loader again(options, RandomCrops());
  CHECK(ReadEpoch(again, 0) == epoch);
  CHECK(again.stats().samples_substituted == 2);
}

TEST_CASE("A picture that changed after a C++ loader was opened is an error",
          "[cpp][errors]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(OptionsFor(daemon, pictures), WholePictures());
  const std::string file = pictures.path() + "/" + Pictures::FileOf(25);
  std::ofstream(file, std::ios::app) << "more";
  loader.StartEpoch(0);
  const Failure changed = FailureOf([&] { ReadRest(loader); });
  CHECK(changed.status == FOREBAY_FAILED_PRECONDITION);
  CHECK_THAT(changed.text, Catch::Contains("sample 25") &&
                               Catch::Contains(Pictures::FileOf(25)));
  std::filesystem::remove(file);
  loader.StartEpoch(1);
  const Failure gone = FailureOf([&] { ReadRest(loader); });
  CHECK(gone.status != FOREBAY_OK);
  CHECK_THAT(gone.text, Catch::Contains("sample 25") &&
                            Catch::Contains(Pictures::FileOf(25)));
}

TEST_CASE("Check throws an Error with the status and the sentence of a failure",
          "[cpp][errors]") {
  forebay::Check(FOREBAY_OK);
  const forebay::Pipeline pipeline;
  const forebay_status status = forebay_pipeline_add_to_image(
      pipeline.get(), static_cast<forebay_layout>(77));
  REQUIRE(status == FOREBAY_INVALID_ARGUMENT);
  const std::string sentence = forebay_last_error();
  CHECK_FALSE(sentence.empty());
  try {
    forebay::Check(status);
    FAIL_CHECK("nothing was thrown");
  } catch (const std::runtime_error& error) {
    CHECK(error.what() == sentence);
    const auto* const ours = dynamic_cast<const forebay::Error*>(&error);
    REQUIRE(ours != nullptr);
    CHECK(ours->status() == FOREBAY_INVALID_ARGUMENT);
  }
  // An error keeps its message, whatever fails later.
  const Failure kept =
      FailureOf([] { throw forebay::Error(FOREBAY_TIMEOUT, "it is late"); });
  CHECK(kept.status == FOREBAY_TIMEOUT);
  CHECK(kept.text == "it is late");
}

TEST_CASE("A C++ program that frees what it never opened does no harm",
          "[cpp][errors]") {
  const Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = OptionsFor(daemon, pictures);
  for (int round = 0; round < 3; ++round) {
    forebay_loader* loader = nullptr;
    REQUIRE(forebay_loader_create(&options, WholePictures().get(), &loader) ==
            FOREBAY_OK);
    if (round == 1) forebay_loader_close(loader);
    if (round == 2)
      CHECK(forebay_loader_open(loader, 0) != FOREBAY_INVALID_ARGUMENT);
    forebay_loader_free(loader);
  }
}

TEST_CASE("A loader that is not open yet says so", "[cpp][errors]") {
  const Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = OptionsFor(daemon, pictures);
  forebay_loader* loader = nullptr;
  REQUIRE(forebay_loader_create(&options, WholePictures().get(), &loader) ==
          FOREBAY_OK);
  forebay_loader_info info;
  forebay_loader_stats stats;
  forebay_batch* batch = nullptr;
  CHECK(forebay_loader_get_info(loader, &info) == FOREBAY_FAILED_PRECONDITION);
  CHECK_THAT(forebay_last_error(), Catch::Contains("not open yet"));
  CHECK(forebay_loader_get_stats(loader, &stats) ==
        FOREBAY_FAILED_PRECONDITION);
  CHECK(forebay_loader_start_epoch(loader, 0, 0) ==
        FOREBAY_FAILED_PRECONDITION);
  CHECK(forebay_loader_stop_epoch(loader) == FOREBAY_FAILED_PRECONDITION);
  CHECK(forebay_loader_next(loader, -1, &batch) == FOREBAY_FAILED_PRECONDITION);
  CHECK_THAT(forebay_last_error(), Catch::Contains("not open yet"));
  CHECK(batch == nullptr);
  CHECK(forebay_loader_is_attached(loader) == 1);
  CHECK(forebay_loader_open(loader, -1) == FOREBAY_OK);
  CHECK(forebay_loader_open(loader, 0) == FOREBAY_OK);
  CHECK(forebay_loader_get_info(loader, &info) == FOREBAY_OK);
  forebay_loader_close(loader);
  CHECK(forebay_loader_open(loader, -1) == FOREBAY_FAILED_PRECONDITION);
  forebay_loader_free(loader);
}

}  // namespace
}  // namespace cpp_user
