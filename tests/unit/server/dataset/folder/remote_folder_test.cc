#include <atomic>
#include <filesystem>
#include <fstream>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/dataset.pb.h"
#include "server/dataset/folder/folder_catalog.h"
#include "server/dataset/folder/folder_scan.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/fake_lister.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset::folder {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kSecond = 1'000'000'000;

std::vector<std::string> Names(const FolderIndex& index) {
  std::vector<std::string> names;
  for (std::uint64_t id = 0; id < index.size(); ++id)
    names.push_back(index.At(id).object);
  return names;
}

ScanOptions Options(base::MemoryBudget* budget = base::AmpleBudget()) {
  ScanOptions options;
  options.budget = budget;
  return options;
}

TEST(ListFolderTest, IsLikeTheFolderOfTheSameContent) {
  const ScratchTree tree;
  FakeLister lister;
  for (const std::string name :
       {"b/2.jpg", "b/10.jpg", "b/1.JPEG", "b/sub/x.png", "b/sub.jpg",
        "b/sub-1/y.jpg", "b/notes.txt", "a/z.webp", "a/deep/er/1.jpg",
        "\u00fc/\u00e9.jpg", "Z/1.tif", "right_in_the_root.jpg"}) {
    tree.Write("data/" + name, "x");
    lister.Put(name);
  }
  const auto folder = ScanFolder(*tree.Root("data"), Options());
  const auto listed = ListFolder(lister, *lister.root(), Options());
  ASSERT_TRUE(folder.ok()) << folder.status();
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_EQ((*listed)->classes(), (*folder)->classes());
  EXPECT_EQ(Names(**listed), Names(**folder));
  const auto& directories = (*listed)->parts().directories;
  ASSERT_GE(directories.size(), 2);
  EXPECT_EQ(directories[1].label, 0);
  EXPECT_EQ((*listed)->At(0).version.size, 1);
  EXPECT_GT((*listed)->At(0).version.stamp, 1'700'000'000'000'000);
}

TEST(ListFolderTest, OddNamesAreNoTrouble) {
  FakeLister lister;
  lister.Put("/nameless/1.jpg");
  lister.Put("a//1.jpg");
  lister.Put("a/../1.jpg");
  lister.Put("a/1.jpg");
  const auto index = ListFolder(lister, *lister.root(), Options());
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_THAT((*index)->classes(), ElementsAre("a"));
  EXPECT_THAT(Names(**index), ElementsAre("a/1.jpg", "a//1.jpg", "a/../1.jpg"));
}

TEST(ListFolderTest, NamesMayBeLongerThanThoseOfFiles) {
  FakeLister lister;
  const std::string longest = std::string(1018, 'x') + ".jpg";
  lister.Put("a/1.jpg");
  lister.Put("a/" + longest);
  const auto index = ListFolder(lister, *lister.root(), Options());
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_THAT(Names(**index), ElementsAre("a/1.jpg", "a/" + longest));
}

TEST(ListFolderTest, SaysWhatIsMissing) {
  FakeLister lister;
  lister.Put("1.jpg");
  EXPECT_EQ(
      ListFolder(lister, *lister.root(), Options()).status(),
      absl::NotFoundError("gs://bucket/train: found no class folder in it"));
  lister.Put("a/1.jpg");
  lister.Put("b/notes.txt");
  const absl::Status status =
      ListFolder(lister, *lister.root(), Options()).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("gs://bucket/train: found no valid file for the "
                        "classes b; supported extensions are .jpg"));
}

TEST(ListFolderTest, StopsWhereMemoryEnds) {
  FakeLister lister;
  for (int i = 0; i < 4000; ++i)
    lister.Put("a/" + std::to_string(i) + std::string(200, 'x') + ".jpg");
  base::MemoryBudget budget(std::uint64_t{1} << 20);
  const absl::Status status =
      ListFolder(lister, *lister.root(), Options(&budget)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("gs://bucket/train: no memory for its index"));
  EXPECT_EQ(budget.used(), 0);
}

class RemoteFolderTest : public testing::Test {
 protected:
  RemoteFolderTest() {
    lister_.Put("a/1.jpg");
    lister_.Put("b/2.jpg", 7);
  }

  std::unique_ptr<FolderCatalog> New() {
    CatalogOptions options;
    options.index_directory = tree_.path() + "/indexes";
    options.wall_clock = [this] { return now_; };
    options.lister = &lister_;
    options.budget = base::AmpleBudget();
    options.recent_list_nanos = 60 * kSecond;
    return std::make_unique<FolderCatalog>(options);
  }

  std::shared_ptr<const Dataset> Open(FolderCatalog& folders) {
    auto dataset = folders.Open(lister_.root(), {}, &warnings_, {});
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return dataset.ok() ? *dataset : nullptr;
  }

  ScratchTree tree_;
  FakeLister lister_;
  std::int64_t now_ = 1'700'000'000 * kSecond;
  std::vector<std::string> warnings_;
};

TEST_F(RemoteFolderTest, ARecentListServesAll) {
  const auto folders = New();
  const auto one = Open(*folders);
  now_ += 60 * kSecond;
  EXPECT_EQ(Open(*folders)->index(), one->index());
  EXPECT_EQ(lister_.lists, 1);
  now_ += 1;
  EXPECT_EQ(Open(*folders)->index(), one->index())
      << "nothing has changed: one copy";
  EXPECT_EQ(lister_.lists, 2);
  EXPECT_EQ(Open(*folders)->index(), one->index());
  EXPECT_EQ(lister_.lists, 2);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(RemoteFolderTest, WhatChangedIsSeenByTheNextList) {
  const auto folders = New();
  const auto before = Open(*folders);
  lister_.Put("a/0.jpg");
  EXPECT_EQ(Open(*folders)->index(), before->index());
  now_ += 61 * kSecond;
  const auto after = Open(*folders);
  EXPECT_EQ(after->size(), 3);
  EXPECT_EQ(before->size(), 2);
  EXPECT_NE(after->version(), before->version());
  // After the clock was set back, no list is recent.
  now_ -= 3600 * kSecond;
  EXPECT_EQ(Open(*folders)->index(), after->index());
  EXPECT_EQ(lister_.lists, 3);
}

TEST_F(RemoteFolderTest, ARestartedDaemonFindsTheIndexOnDisk) {
  const Version version = Open(*New())->version();
  now_ += 59 * kSecond;
  const auto later = New();
  EXPECT_EQ(Open(*later)->version(), version);
  EXPECT_EQ(lister_.lists, 1);
  now_ += 2 * kSecond;
  EXPECT_EQ(Open(*New())->version(), version);
  EXPECT_EQ(lister_.lists, 2);
}

TEST_F(RemoteFolderTest, AnEarlierListIsBetterThanNone) {
  const Version version = Open(*New())->version();
  now_ += 3600 * kSecond;
  lister_.status = absl::UnavailableError("no connection");
  EXPECT_EQ(Open(*New())->version(), version);
  EXPECT_THAT(warnings_,
              ElementsAre("gs://bucket/train: no connection: the index of an "
                          "earlier list is used instead"));
  // Without permission to list, the saved index must not be used.
  lister_.status = absl::PermissionDeniedError("denied");
  EXPECT_EQ(New()->Open(lister_.root(), {}, &warnings_, {}).status(),
            absl::PermissionDeniedError("gs://bucket/train: denied"));
}

TEST_F(RemoteFolderTest, AStaleIndexIsListedAnew) {
  const auto folders = New();
  const auto before = Open(*folders);
  lister_.Put("a/1.jpg", 2);
  folders->MarkStale(before->version());
  lister_.status = absl::UnavailableError("no connection");
  EXPECT_TRUE(absl::IsUnavailable(
      folders->Open(lister_.root(), {}, &warnings_, {}).status()));
  lister_.status = absl::OkStatus();
  const auto after = Open(*folders);
  EXPECT_EQ(after->At(0).length, 2);
  // The next list has noticed; the new index is not stale.
  folders->MarkStale(before->version());
  EXPECT_EQ(Open(*folders)->index(), after->index());
  EXPECT_EQ(lister_.lists, 3);
  // The stale index is not on disk, too.
  folders->MarkStale(after->version());
  folders->RemoveStale();
  EXPECT_EQ(Open(*New())->version(), after->version());
  EXPECT_EQ(lister_.lists, 4);
}

TEST_F(RemoteFolderTest, ADamagedIndexIsBuiltAnewWithAWarning) {
  Open(*New());
  for (const auto& file :
       std::filesystem::directory_iterator(tree_.path() + "/indexes"))
    std::ofstream(file.path(), std::ios::app) << "garbage";
  EXPECT_EQ(Open(*New())->size(), 2);
  EXPECT_EQ(lister_.lists, 2);
  ASSERT_EQ(warnings_.size(), 1);
  EXPECT_THAT(warnings_[0],
              HasSubstr("gs://bucket/train: its index is built anew: "));
}

TEST_F(RemoteFolderTest, WhoWaitsForAListSharesIt) {
  const auto folders = New();
  constexpr int kLoaders = 8;
  std::latch start(kLoaders);
  std::vector<std::shared_ptr<const Dataset>> found(kLoaders);
  std::vector<std::thread> threads;
  for (auto& dataset : found) {
    threads.emplace_back([&] {
      std::vector<std::string> warnings;
      start.arrive_and_wait();
      dataset = *folders->Open(lister_.root(), {}, &warnings, {});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lister_.lists, 1);
  for (const auto& dataset : found)
    EXPECT_EQ(dataset->index(), found[0]->index());
}

TEST_F(RemoteFolderTest, WhoStopsLeavesTheListToOthers) {
  const auto folders = New();
  std::stop_source stop;
  std::latch listing(1);
  std::latch go(1);
  std::atomic<bool> hold = true;
  lister_.on_list = [&] {
    if (hold.exchange(false)) listing.count_down();
    go.wait();
  };
  const auto open = [&] {
    std::vector<std::string> warnings;
    return folders->Open(lister_.root(), {}, &warnings, stop.get_token())
        .status();
  };
  absl::Status first;
  absl::Status second;
  std::thread lister([&] { first = open(); });
  listing.wait();
  std::thread waiter([&] { second = open(); });
  stop.request_stop();
  waiter.join();
  EXPECT_TRUE(absl::IsCancelled(second)) << second;
  go.count_down();
  lister.join();
  EXPECT_TRUE(absl::IsCancelled(first)) << first;
  EXPECT_EQ(Open(*folders)->size(), 2);
}

}  // namespace
}  // namespace forebay::dataset::folder
