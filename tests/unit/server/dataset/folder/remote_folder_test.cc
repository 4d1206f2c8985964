#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "proto/dataset.pb.h"
#include "server/dataset/folder/folder_catalog.h"
#include "server/dataset/folder/folder_scan.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/fake_lister.h"
#include "tests/unit/server/dataset/scratch_tree.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::dataset::folder {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsEmpty;
using tests::IsOk;

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

TEST_CASE("A listed remote folder is like the local folder of the same content",
          "[folder][remote_folder]") {
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
  REQUIRE_THAT(folder, IsOk());
  REQUIRE_THAT(listed, IsOk());
  CHECK((*listed)->classes() == (*folder)->classes());
  CHECK(Names(**listed) == Names(**folder));
  const auto& directories = (*listed)->parts().directories;
  REQUIRE(directories.size() >= 2);
  CHECK(directories[1].label == 0);
  CHECK((*listed)->At(0).version.size == 1);
  CHECK((*listed)->At(0).version.stamp > 1'700'000'000'000'000);
}

TEST_CASE("A remote folder takes odd object names without trouble",
          "[folder][remote_folder]") {
  FakeLister lister;
  lister.Put("/nameless/1.jpg");
  lister.Put("a//1.jpg");
  lister.Put("a/../1.jpg");
  lister.Put("a/1.jpg");
  const auto index = ListFolder(lister, *lister.root(), Options());
  REQUIRE_THAT(index, IsOk());
  CHECK_THAT((*index)->classes(), ElementsAre("a"));
  CHECK_THAT(Names(**index), ElementsAre("a/1.jpg", "a//1.jpg", "a/../1.jpg"));
}

TEST_CASE("Names in a remote folder may be longer than those of files",
          "[folder][remote_folder]") {
  FakeLister lister;
  const std::string longest = std::string(1018, 'x') + ".jpg";
  lister.Put("a/1.jpg");
  lister.Put("a/" + longest);
  const auto index = ListFolder(lister, *lister.root(), Options());
  REQUIRE_THAT(index, IsOk());
  CHECK_THAT(Names(**index), ElementsAre("a/1.jpg", "a/" + longest));
}

TEST_CASE("A remote folder says what is missing", "[folder][remote_folder]") {
  FakeLister lister;
  lister.Put("1.jpg");
  CHECK(ListFolder(lister, *lister.root(), Options()).status() ==
        absl::NotFoundError("gs://bucket/train: found no class folder in it"));
  lister.Put("a/1.jpg");
  lister.Put("b/notes.txt");
  const absl::Status status =
      ListFolder(lister, *lister.root(), Options()).status();
  CHECK_THAT(status.message(),
             Contains("gs://bucket/train: found no valid file for the "
                      "classes b; supported extensions are .jpg"));
}

TEST_CASE("The listing of a remote folder stops where memory ends",
          "[folder][remote_folder]") {
  FakeLister lister;
  for (int i = 0; i < 4000; ++i)
    lister.Put("a/" + std::to_string(i) + std::string(200, 'x') + ".jpg");
  base::MemoryBudget budget(std::uint64_t{1} << 20);
  const absl::Status status =
      ListFolder(lister, *lister.root(), Options(&budget)).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(status.message(),
             Contains("gs://bucket/train: no memory for its index"));
  CHECK(budget.used() == 0);
}

class RemoteFolderTest {
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
    CHECK_THAT(dataset, IsOk());
    return dataset.ok() ? *dataset : nullptr;
  }

  ScratchTree tree_;
  FakeLister lister_;
  std::int64_t now_ = 1'700'000'000 * kSecond;
  std::vector<std::string> warnings_;
};

TEST_CASE_METHOD(RemoteFolderTest,
                 "A recent list of a remote folder serves all loaders",
                 "[folder][remote_folder]") {
  const auto folders = New();
  const auto one = Open(*folders);
  now_ += 60 * kSecond;
  CHECK(Open(*folders)->index() == one->index());
  CHECK(lister_.lists == 1);
  now_ += 1;
  UNSCOPED_INFO("nothing has changed: one copy");
  CHECK(Open(*folders)->index() == one->index());
  CHECK(lister_.lists == 2);
  CHECK(Open(*folders)->index() == one->index());
  CHECK(lister_.lists == 2);
  CHECK_THAT(warnings_, IsEmpty());
}

TEST_CASE_METHOD(RemoteFolderTest,
                 "The next list of a remote folder sees what changed",
                 "[folder][remote_folder]") {
  const auto folders = New();
  const auto before = Open(*folders);
  lister_.Put("a/0.jpg");
  CHECK(Open(*folders)->index() == before->index());
  now_ += 61 * kSecond;
  const auto after = Open(*folders);
  CHECK(after->size() == 3);
  CHECK(before->size() == 2);
  CHECK(after->version() != before->version());
  // The clock was set back, so no list counts as recent.
  now_ -= 3600 * kSecond;
  CHECK(Open(*folders)->index() == after->index());
  CHECK(lister_.lists == 3);
}

TEST_CASE_METHOD(
    RemoteFolderTest,
    "A restarted daemon finds the index of a remote folder on disk",
    "[folder][remote_folder]") {
  const Version version = Open(*New())->version();
  now_ += 59 * kSecond;
  const auto later = New();
  CHECK(Open(*later)->version() == version);
  CHECK(lister_.lists == 1);
  now_ += 2 * kSecond;
  CHECK(Open(*New())->version() == version);
  CHECK(lister_.lists == 2);
}

TEST_CASE_METHOD(
    RemoteFolderTest,
    "An earlier list of a remote folder serves where none can be made",
    "[folder][remote_folder]") {
  const Version version = Open(*New())->version();
  now_ += 3600 * kSecond;
  lister_.status = absl::UnavailableError("no connection");
  CHECK(Open(*New())->version() == version);
  CHECK_THAT(warnings_,
             ElementsAre("gs://bucket/train: no connection: the index of an "
                         "earlier list is used instead"));
  // A caller that may not list the folder must not use the saved index.
  lister_.status = absl::PermissionDeniedError("denied");
  CHECK(New()->Open(lister_.root(), {}, &warnings_, {}).status() ==
        absl::PermissionDeniedError("gs://bucket/train: denied"));
}

TEST_CASE_METHOD(RemoteFolderTest,
                 "A remote folder with a stale index is listed anew",
                 "[folder][remote_folder]") {
  const auto folders = New();
  const auto before = Open(*folders);
  lister_.Put("a/1.jpg", 2);
  folders->MarkStale(before->version());
  lister_.status = absl::UnavailableError("no connection");
  CHECK_THAT(folders->Open(lister_.root(), {}, &warnings_, {}),
             HasCode(absl::StatusCode::kUnavailable));
  lister_.status = absl::OkStatus();
  const auto after = Open(*folders);
  CHECK(after->At(0).length == 2);
  // The latest list has noticed the change, so the new index is not stale.
  folders->MarkStale(before->version());
  CHECK(Open(*folders)->index() == after->index());
  CHECK(lister_.lists == 3);
  // The stale index is also removed from the disk.
  folders->MarkStale(after->version());
  folders->RemoveStale();
  CHECK(Open(*New())->version() == after->version());
  CHECK(lister_.lists == 4);
}

TEST_CASE_METHOD(RemoteFolderTest,
                 "An index that is saved while stale ones are removed stays",
                 "[folder][remote_folder]") {
  constexpr int kFolders = 200;
  const auto folders = New();
  std::vector<std::shared_ptr<const storage::Root>> roots;
  std::vector<std::shared_ptr<const Dataset>> stale;
  for (int i = 0; i < kFolders; ++i) {
    const std::string name = "gs://bucket/" + std::to_string(i);
    roots.push_back(storage::FakeRoot::Make({.uri = name, .identity = name}));
    stale.push_back(*folders->Open(roots.back(), {}, &warnings_, {}));
  }
  for (const auto& dataset : stale) folders->MarkStale(dataset->version());
  const auto files = [this] {
    const std::filesystem::directory_iterator all(tree_.path() + "/indexes");
    return std::distance(begin(all), end(all));
  };
  REQUIRE(files() == kFolders);
  std::jthread remover([&] { folders->RemoveStale(); });
  while (files() == kFolders) std::this_thread::yield();
  for (const auto& root : roots)
    CHECK_THAT(folders->Open(root, {}, &warnings_, {}), IsOk());
  remover.join();
  CHECK(files() == kFolders);
}

TEST_CASE_METHOD(RemoteFolderTest,
                 "A remote folder's damaged index is built anew with a warning",
                 "[folder][remote_folder]") {
  Open(*New());
  for (const auto& file :
       std::filesystem::directory_iterator(tree_.path() + "/indexes"))
    std::ofstream(file.path(), std::ios::app) << "garbage";
  CHECK(Open(*New())->size() == 2);
  CHECK(lister_.lists == 2);
  REQUIRE(warnings_.size() == 1);
  CHECK_THAT(warnings_[0],
             Contains("gs://bucket/train: its index is built anew: "));
}

TEST_CASE_METHOD(RemoteFolderTest,
                 "A loader that waits for a remote folder's list shares it",
                 "[folder][remote_folder]") {
  const auto folders = New();
  constexpr int kLoaders = 8;
  std::latch start(kLoaders);
  std::vector<std::shared_ptr<const Dataset>> found(kLoaders);
  std::vector<std::jthread> threads;
  for (auto& dataset : found) {
    threads.emplace_back([&] {
      std::vector<std::string> warnings;
      start.arrive_and_wait();
      dataset = *folders->Open(lister_.root(), {}, &warnings, {});
    });
  }
  for (std::jthread& thread : threads) thread.join();
  CHECK(lister_.lists == 1);
  for (const auto& dataset : found)
    CHECK(dataset->index() == found[0]->index());
}

TEST_CASE_METHOD(RemoteFolderTest,
                 "A loader that stops leaves a remote folder's list to others",
                 "[folder][remote_folder]") {
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
  std::jthread lister([&] { first = open(); });
  listing.wait();
  std::jthread waiter([&] { second = open(); });
  stop.request_stop();
  waiter.join();
  CHECK_THAT(second, HasCode(absl::StatusCode::kCancelled));
  go.count_down();
  lister.join();
  CHECK_THAT(first, HasCode(absl::StatusCode::kCancelled));
  CHECK(Open(*folders)->size() == 2);
}

}  // namespace
}  // namespace forebay::dataset::folder
