// Tests when a catalog scans a folder, and which callers share the scan.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <latch>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "proto/dataset.pb.h"
#include "server/dataset/catalog.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/catalog_fixture.h"

namespace forebay::dataset {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

TEST_CASE_METHOD(CatalogTest,
                 "The catalog scans once for loaders that attach at once",
                 "[dataset][catalog_scans]") {
  Catalog catalog(Options());
  constexpr int kLoaders = 8;
  std::latch start(kLoaders);
  std::vector<std::shared_ptr<const Dataset>> datasets(kLoaders);
  std::vector<std::jthread> threads;
  const auto root = tree_.Root("data");
  for (auto& dataset : datasets) {
    threads.emplace_back([&] {
      proto::DatasetSpec spec;
      spec.mutable_image_folder();
      std::vector<std::string> warnings;
      start.arrive_and_wait();
      auto opened = catalog.Open(root, spec, source_, &warnings);
      if (opened.ok()) dataset = *std::move(opened);
    });
  }
  for (std::jthread& thread : threads) thread.join();
  CHECK(scans_ == 1);
  for (const auto& dataset : datasets) {
    REQUIRE(dataset != nullptr);
    CHECK(&dataset->classes() == &datasets[0]->classes());
  }
}

TEST_CASE_METHOD(CatalogTest, "The catalog scans changed directories anew",
                 "[dataset][catalog_scans]") {
  Catalog catalog(Options());
  auto before = Open(catalog);
  struct Change {
    std::string directory;  // the directory whose modification time changes
    std::function<void()> make;
  };
  const std::vector<Change> changes = {
      {"data/a", [&] { tree_.Write("data/a/0.jpg", ""); }},
      {"data/a", [&] { tree_.Remove("data/a/0.jpg"); }},
      {"data", [&] { tree_.Write("data/0/0.jpg", ""); }},
      {"data/b", [&] { tree_.Write("data/b/sub/0.jpg", ""); }},
      {"data/b/sub", [&] { tree_.Write("data/b/sub/1.jpg", ""); }},
      {"data/b/sub",
       [&] {
         std::filesystem::rename(tree_.path() + "/data/b/sub/1.jpg",
                                 tree_.path() + "/data/b/sub/2.jpg");
       }},
  };
  int scans = 1;
  for (const Change& change : changes) {
    CAPTURE(scans);
    change.make();
    // The modification time differs for each scan, as if the clock had ticked.
    SetModified(change.directory, scans);
    const std::uint64_t size = before->size();
    const auto after = Open(catalog);
    CHECK(scans_ == ++scans);
    CHECK(after->version() != before->version());
    CHECK(before->size() == size);
    before = nullptr;
    before = Open(catalog);
    CHECK(scans_ == scans);
    CHECK(before->version() == after->version());
  }
}

// A file may be added in the same tick of the clock in which its directory was
// scanned. The directory's modification time then stays the same.
TEST_CASE_METHOD(CatalogTest,
                 "The catalog does not trust freshly changed directories",
                 "[dataset][catalog_scans]") {
  ahead_nanos_ = 0;
  Catalog catalog(Options());
  const auto one = Open(catalog);
  CHECK_FALSE(IsKeptOnDisk());
  const auto two = Open(catalog);
  CHECK(scans_ == 2);
  CHECK(&one->classes() == &two->classes());
  CHECK_FALSE(IsKeptOnDisk());
  ahead_nanos_ = 3'600'000'000'000;
  const auto three = Open(catalog);
  CHECK(scans_ == 3);
  CHECK(IsKeptOnDisk());
  const auto four = Open(catalog);
  CHECK(scans_ == 3);
  CHECK(&one->classes() == &four->classes());
}

TEST_CASE_METHOD(CatalogTest,
                 "The catalog finds out a file that was edited in place",
                 "[dataset][catalog_scans]") {
  Catalog catalog(Options());
  auto before = Open(catalog);
  tree_.Write("data/a/1.jpg", "longer");
  const auto after = Open(catalog);
  CHECK(scans_ == 2);
  CHECK(after->version() != before->version());
  CHECK(after->At(0).length == 6);
  REQUIRE(warnings_.size() == 1);
  CHECK_THAT(warnings_[0], Contains("data: a/1.jpg was changed in its place: "
                                    "the index is built anew"));
  CHECK(Open(catalog)->version() == after->version());
  CHECK(scans_ == 2);
  // An index from disk also notices a change of modification time alone.
  SetModified("data/b/2.jpg", 7);
  Catalog later(Options());
  CHECK(Open(later)->version() != after->version());
  CHECK(scans_ == 3);
  CHECK(warnings_.size() == 2);
}

// MarkStale() plays a read that notices the change: the catalog does not check
// the file itself.
TEST_CASE_METHOD(CatalogTest,
                 "A replaced file makes the catalog scan at the next attach",
                 "[dataset][catalog_scans]") {
  Catalog catalog(Options());
  const auto before = Open(catalog);
  CHECK(Open(catalog)->version() == before->version());
  CHECK(scans_ == 1);
  tree_.Write("data/a/1.jpg", "longer");
  catalog.MarkStale(*before);
  catalog.FreeIdle();
  CHECK_FALSE(IsKeptOnDisk());
  const auto after = Open(catalog);
  CHECK(scans_ == 2);
  CHECK(after->At(0).length == 6);
  CHECK(before->At(0).length == 1);
  CHECK(IsKeptOnDisk());
  // The latest scan has noticed the change, so the new index is not stale.
  catalog.MarkStale(*before);
  CHECK(Open(catalog)->version() == after->version());
  CHECK(scans_ == 2);
}

TEST_CASE_METHOD(CatalogTest, "The catalog ends a scan when nobody wants it",
                 "[dataset][catalog_scans]") {
  std::stop_source stop;
  on_scan_ = [&] { stop.request_stop(); };
  Catalog catalog(Options());
  const absl::Status status = OpenUntil(catalog, stop.get_token());
  CHECK_THAT(status, HasCode(absl::StatusCode::kCancelled));
  CHECK(status.message() == tree_.path() + "/data: was not scanned to the end");
  CHECK_FALSE(IsKeptOnDisk());
  // A caller that was stopped before begins no scan.
  CHECK_THAT(OpenUntil(catalog, stop.get_token()),
             HasCode(absl::StatusCode::kCancelled));
  CHECK(scans_ == 1);
  CHECK(Open(catalog)->size() == 2);
}

TEST_CASE_METHOD(
    CatalogTest,
    "A catalog's caller that loses interest waits for nobody's scan",
    "[dataset][catalog_scans]") {
  std::latch scanning(1), go_on(1);
  on_scan_ = [&] {
    scanning.count_down();
    go_on.wait();
  };
  Catalog catalog(Options());
  absl::Status scanned = absl::UnknownError("");
  std::jthread scanner(
      [&] { scanned = OpenUntil(catalog, std::stop_token()); });
  scanning.wait();
  std::stop_source stop;
  absl::Status waited;
  std::jthread waiter([&] { waited = OpenUntil(catalog, stop.get_token()); });
  stop.request_stop();
  waiter.join();
  CHECK_THAT(waited, HasCode(absl::StatusCode::kCancelled));
  go_on.count_down();
  scanner.join();
  CHECK_THAT(scanned, IsOk());
  CHECK(scans_ == 1);
}

TEST_CASE_METHOD(
    CatalogTest,
    "A catalog's scan goes on for the others when one caller stops",
    "[dataset][catalog_scans]") {
  std::latch scanning(1), go_on(1);
  on_scan_ = [&] {
    if (scans_ > 1) return;
    scanning.count_down();
    go_on.wait();
  };
  Catalog catalog(Options());
  std::stop_source stop;
  absl::Status scanned, waited = absl::UnknownError("");
  std::jthread scanner([&] { scanned = OpenUntil(catalog, stop.get_token()); });
  scanning.wait();
  std::jthread waiter([&] { waited = OpenUntil(catalog, std::stop_token()); });
  stop.request_stop();
  go_on.count_down();
  scanner.join();
  waiter.join();
  CHECK_THAT(waited, IsOk());
  // If the other caller waited already, the scan was for both callers. If not,
  // the scan was stopped.
  CHECK(scans_ == (scanned.ok() ? 1 : 2));
}

TEST_CASE_METHOD(CatalogTest, "The catalog tries a failed scan again",
                 "[dataset][catalog_scans]") {
  tree_.MakeDirectory("data/empty");
  Catalog catalog(Options());
  proto::DatasetSpec spec;
  spec.mutable_image_folder();
  CHECK_THAT(
      catalog.Open(tree_.Root("data"), spec, source_, &warnings_).status(),
      HasCode(absl::StatusCode::kNotFound));
  tree_.Write("data/empty/3.jpg", "");
  CHECK(Open(catalog)->size() == 3);
}

}  // namespace
}  // namespace forebay::dataset
