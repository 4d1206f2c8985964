#include "server/dataset/catalog.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/dataset.pb.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::int64_t NowNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class CatalogTest : public testing::Test {
 protected:
  CatalogTest() {
    tree_.Write("data/a/1.jpg", "x");
    tree_.Write("data/b/2.jpg", "xy");
  }

  CatalogOptions Options() {
    CatalogOptions options;
    options.index_directory = tree_.path() + "/indexes";
    options.scan_threads = 2;
    options.budget = base::AmpleBudget();
    // Every scan calls this once.
    options.wall_clock = [this] {
      ++scans_;
      if (on_scan_ != nullptr) on_scan_();
      return NowNanos() + ahead_nanos_;
    };
    return options;
  }

  // Thread-safe, like the catalog.
  absl::Status OpenUntil(Catalog& catalog, const std::stop_token& stop) const {
    proto::DatasetSpec spec;
    spec.set_format(proto::DatasetSpec::IMAGE_FOLDER);
    std::vector<std::string> warnings;
    return catalog.Open(tree_.Root("data"), spec, source_, &warnings, stop)
        .status();
  }

  std::shared_ptr<const Dataset> Open(Catalog& catalog,
                                      std::string_view path = "data") {
    proto::DatasetSpec spec;
    spec.set_format(proto::DatasetSpec::IMAGE_FOLDER);
    auto dataset = catalog.Open(tree_.Root(path), spec, source_, &warnings_);
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return *std::move(dataset);
  }

  void SetModified(const std::string& path, int second) const {
    const timespec times[2] = {{second, 0}, {second, 0}};
    const std::string whole = tree_.path() + "/" + path;
    ASSERT_EQ(utimensat(AT_FDCWD, whole.c_str(), times, 0), 0);
  }

  bool IsKeptOnDisk() const {
    const std::string path = tree_.path() + "/indexes";
    return std::filesystem::exists(path) && !std::filesystem::is_empty(path);
  }

  ScratchTree tree_;
  std::atomic<int> scans_ = 0;
  std::function<void()> on_scan_;  // called as each begins
  // By default, all changes of the test are long past.
  std::int64_t ahead_nanos_ = 3'600'000'000'000;
  std::vector<std::string> warnings_;
  mutable storage::MemorySource source_;  // folders are listed, not read
};

TEST_F(CatalogTest, LoadersShareTheIndexButNotTheRoot) {
  Catalog catalog(Options());
  const auto one = Open(catalog);
  const auto other = Open(catalog);
  EXPECT_EQ(scans_, 1);
  EXPECT_EQ(&one->classes(), &other->classes());
  EXPECT_NE(one->root(), other->root());
  EXPECT_EQ(one->size(), 2);
  EXPECT_EQ(one->At(1).object, "b/2.jpg");
  EXPECT_EQ(one->largest_sample(), 2);
  EXPECT_THAT(one->classes(), ElementsAre("a", "b"));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(CatalogTest, AttachesAtOnceScanOnce) {
  Catalog catalog(Options());
  constexpr int kLoaders = 8;
  std::latch start(kLoaders);
  std::vector<std::shared_ptr<const Dataset>> datasets(kLoaders);
  std::vector<std::thread> threads;
  const auto root = tree_.Root("data");
  for (auto& dataset : datasets) {
    threads.emplace_back([&] {
      proto::DatasetSpec spec;
      spec.set_format(proto::DatasetSpec::IMAGE_FOLDER);
      std::vector<std::string> warnings;
      start.arrive_and_wait();
      auto opened = catalog.Open(root, spec, source_, &warnings);
      if (opened.ok()) dataset = *std::move(opened);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(scans_, 1);
  for (const auto& dataset : datasets) {
    ASSERT_NE(dataset, nullptr);
    EXPECT_EQ(&dataset->classes(), &datasets[0]->classes());
  }
}

TEST_F(CatalogTest, FindsTheIndexOnDisk) {
  Version version;
  {
    Catalog catalog(Options());
    version = Open(catalog)->version();
    EXPECT_EQ(scans_, 1);
    // It is loaded from disk, since nobody holds it.
    EXPECT_EQ(Open(catalog)->version(), version);
    EXPECT_EQ(scans_, 1);
  }
  Catalog later(Options());
  const auto dataset = Open(later);
  EXPECT_EQ(scans_, 1);
  EXPECT_EQ(dataset->version(), version);
  EXPECT_EQ(dataset->At(0).object, "a/1.jpg");
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(CatalogTest, ChangedDirectoriesAreScannedAnew) {
  Catalog catalog(Options());
  auto before = Open(catalog);
  struct Change {
    std::string directory;  // that it shows in
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
    SCOPED_TRACE(scans);
    change.make();
    // As if the clock had ticked since the scan.
    SetModified(change.directory, scans);
    const std::uint64_t size = before->size();
    const auto after = Open(catalog);
    EXPECT_EQ(scans_, ++scans);
    EXPECT_NE(after->version(), before->version());
    EXPECT_EQ(before->size(), size);
    before = nullptr;
    before = Open(catalog);
    EXPECT_EQ(scans_, scans);
    EXPECT_EQ(before->version(), after->version());
  }
}

// A file may be added in the very tick of the clock in which its directory was
// scanned, and the directory's time stay the same.
TEST_F(CatalogTest, FreshlyChangedDirectoriesAreNotTrusted) {
  ahead_nanos_ = 0;
  Catalog catalog(Options());
  const auto one = Open(catalog);
  EXPECT_FALSE(IsKeptOnDisk());
  const auto two = Open(catalog);
  EXPECT_EQ(scans_, 2);
  EXPECT_EQ(&one->classes(), &two->classes());
  EXPECT_FALSE(IsKeptOnDisk());
  ahead_nanos_ = 3'600'000'000'000;
  const auto three = Open(catalog);
  EXPECT_EQ(scans_, 3);
  EXPECT_TRUE(IsKeptOnDisk());
  const auto four = Open(catalog);
  EXPECT_EQ(scans_, 3);
  EXPECT_EQ(&one->classes(), &four->classes());
}

TEST_F(CatalogTest, AFileThatWasEditedInPlaceIsFoundOut) {
  Catalog catalog(Options());
  auto before = Open(catalog);
  tree_.Write("data/a/1.jpg", "longer");
  const auto after = Open(catalog);
  EXPECT_EQ(scans_, 2);
  EXPECT_NE(after->version(), before->version());
  EXPECT_EQ(after->At(0).length, 6);
  ASSERT_EQ(warnings_.size(), 1);
  EXPECT_THAT(warnings_[0], HasSubstr("data: a/1.jpg was changed in its place: "
                                      "the index is built anew"));
  EXPECT_EQ(Open(catalog)->version(), after->version());
  EXPECT_EQ(scans_, 2);
  // The same with an index from disk, where only the time changed.
  SetModified("data/b/2.jpg", 7);
  Catalog later(Options());
  EXPECT_NE(Open(later)->version(), after->version());
  EXPECT_EQ(scans_, 3);
  EXPECT_EQ(warnings_.size(), 2);
}

// Stands for a change of a file that is not checked.
TEST_F(CatalogTest, AReplacedFileMakesTheNextAttachScan) {
  Catalog catalog(Options());
  const auto before = Open(catalog);
  EXPECT_EQ(Open(catalog)->version(), before->version());
  EXPECT_EQ(scans_, 1);
  tree_.Write("data/a/1.jpg", "longer");
  catalog.MarkStale(*before);
  catalog.FreeIdle();
  EXPECT_FALSE(IsKeptOnDisk());
  const auto after = Open(catalog);
  EXPECT_EQ(scans_, 2);
  EXPECT_EQ(after->At(0).length, 6);
  EXPECT_EQ(before->At(0).length, 1);
  EXPECT_TRUE(IsKeptOnDisk());
  // The next scan has noticed; the new index is not stale.
  catalog.MarkStale(*before);
  EXPECT_EQ(Open(catalog)->version(), after->version());
  EXPECT_EQ(scans_, 2);
}

TEST_F(CatalogTest, ADamagedIndexIsBuiltAnewWithAWarning) {
  {
    Catalog catalog(Options());
    Open(catalog);
  }
  for (const auto& file :
       std::filesystem::directory_iterator(tree_.path() + "/indexes")) {
    std::ofstream(file.path(), std::ios::app) << "garbage";
  }
  Catalog catalog(Options());
  EXPECT_EQ(Open(catalog)->size(), 2);
  EXPECT_EQ(scans_, 2);
  ASSERT_EQ(warnings_.size(), 1);
  EXPECT_THAT(warnings_[0], HasSubstr("its index is built anew: "));
  EXPECT_THAT(warnings_[0],
              HasSubstr("has counts that do not match its length"));
  Catalog again(Options());
  Open(again);
  EXPECT_EQ(scans_, 2);
}

TEST_F(CatalogTest, AnIndexThatCannotBeKeptIsAWarning) {
  tree_.Write("indexes", "a file in its place");
  Catalog catalog(Options());
  const auto dataset = Open(catalog);
  EXPECT_EQ(dataset->size(), 2);
  EXPECT_EQ(warnings_.size(), 2);
  EXPECT_THAT(warnings_.back(), HasSubstr("its index is kept in memory only"));
  const auto other = Open(catalog);
  EXPECT_EQ(scans_, 1);
}

TEST_F(CatalogTest, LinksMakeTheRootsPathMatter) {
  tree_.Link("data/b/3.jpg", tree_.path() + "/data/a/1.jpg");
  tree_.Link("other", "data");
  Catalog catalog(Options());
  const auto one = Open(catalog);
  EXPECT_EQ(one->At(2).length, 1);
  const auto other = Open(catalog, "other");
  EXPECT_EQ(scans_, 2);
  EXPECT_EQ(other->At(2).length, 0);  // leads outside of that root
}

TEST_F(CatalogTest, RefusesWhatItDoesNotKnow) {
  Catalog catalog(Options());
  for (const int format : {0, 99}) {
    proto::DatasetSpec spec;
    spec.set_format(static_cast<proto::DatasetSpec::Format>(format));
    EXPECT_EQ(catalog.Open(tree_.Root("data"), spec, source_, &warnings_)
                  .status()
                  .code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(CatalogTest, NpyFilesMustBeThere) {
  Catalog catalog(Options());
  proto::DatasetSpec spec;
  spec.set_format(proto::DatasetSpec::NPY);
  const auto refusal = [&] {
    return catalog.Open(tree_.Root("data"), spec, source_, &warnings_).status();
  };
  // Without names, the folder has them.
  EXPECT_EQ(refusal(), absl::NotFoundError(tree_.path() +
                                           "/data: found no .npy file in it"));
  spec.add_shards("{a,b}/*.npy");
  EXPECT_EQ(refusal().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(refusal().message(),
            tree_.path() + "/data: a/*.npy: no file fits this pattern");
}

TEST_F(CatalogTest, AScanEndsWhenNobodyWantsIt) {
  std::stop_source stop;
  on_scan_ = [&] { stop.request_stop(); };
  Catalog catalog(Options());
  const absl::Status status = OpenUntil(catalog, stop.get_token());
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(status.message(),
            tree_.path() + "/data: was not scanned to the end");
  EXPECT_FALSE(IsKeptOnDisk());
  // A caller that has stopped before begins nothing.
  EXPECT_EQ(OpenUntil(catalog, stop.get_token()).code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(scans_, 1);
  EXPECT_EQ(Open(catalog)->size(), 2);
}

TEST_F(CatalogTest, WhoLosesInterestWaitsForNobodysScan) {
  std::latch scanning(1), go_on(1);
  on_scan_ = [&] {
    scanning.count_down();
    go_on.wait();
  };
  Catalog catalog(Options());
  absl::Status scanned = absl::UnknownError("");
  std::thread scanner([&] { scanned = OpenUntil(catalog, std::stop_token()); });
  scanning.wait();
  std::stop_source stop;
  absl::Status waited;
  std::thread waiter([&] { waited = OpenUntil(catalog, stop.get_token()); });
  stop.request_stop();
  waiter.join();
  EXPECT_EQ(waited.code(), absl::StatusCode::kCancelled);
  go_on.count_down();
  scanner.join();
  EXPECT_TRUE(scanned.ok()) << scanned;
  EXPECT_EQ(scans_, 1);
}

TEST_F(CatalogTest, AScanGoesOnForTheOthers) {
  std::latch scanning(1), go_on(1);
  on_scan_ = [&] {
    if (scans_ > 1) return;
    scanning.count_down();
    go_on.wait();
  };
  Catalog catalog(Options());
  std::stop_source stop;
  absl::Status scanned, waited = absl::UnknownError("");
  std::thread scanner([&] { scanned = OpenUntil(catalog, stop.get_token()); });
  scanning.wait();
  std::thread waiter([&] { waited = OpenUntil(catalog, std::stop_token()); });
  stop.request_stop();
  go_on.count_down();
  scanner.join();
  waiter.join();
  EXPECT_TRUE(waited.ok()) << waited;
  // If the other waited already, the scan was for both; else it was stopped.
  EXPECT_EQ(scans_, scanned.ok() ? 1 : 2);
}

TEST_F(CatalogTest, AFailedScanIsTriedAgain) {
  tree_.MakeDirectory("data/empty");
  Catalog catalog(Options());
  proto::DatasetSpec spec;
  spec.set_format(proto::DatasetSpec::IMAGE_FOLDER);
  EXPECT_EQ(catalog.Open(tree_.Root("data"), spec, source_, &warnings_)
                .status()
                .code(),
            absl::StatusCode::kNotFound);
  tree_.Write("data/empty/3.jpg", "");
  EXPECT_EQ(Open(catalog)->size(), 3);
}

}  // namespace
}  // namespace forebay::dataset
