#include "server/dataset/folder/folder_index_store.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset::folder {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

const FolderKey kKey = {0x10, 0xab, 1};

std::shared_ptr<const FolderIndex> IndexOf(std::int64_t scanned_at_nanos) {
  FolderIndexParts parts;
  parts.names = "a1.jpg";
  parts.directories.resize(2);
  parts.directories[1] = {0, 1, 0, 0, {}};
  parts.records.emplace_back(0, 5, 100, 200);
  parts.scanned_at_nanos = scanned_at_nanos;
  auto index = FolderIndex::Create(std::move(parts));
  CHECK_THAT(index, IsOk());
  return *std::move(index);
}

int FilesIn(const std::string& path) {
  const std::filesystem::directory_iterator entries(path);
  return std::distance(begin(entries), end(entries));
}

class FolderIndexStoreTest {
 protected:
  std::string File() const { return Directory() + "/10-ab-1.index"; }
  std::string Directory() const { return tree_.path() + "/indexes"; }

  ScratchTree tree_;
  base::MemoryBudget budget_{std::uint64_t{1} << 20};
  const FolderIndexStore store_ = FolderIndexStore(Directory(), &budget_);
};

TEST_CASE_METHOD(
    FolderIndexStoreTest,
    "The folder index store keeps and replaces and removes indexes",
    "[folder][folder_index_store]") {
  CHECK_THAT(store_.Load(kKey), HasCode(absl::StatusCode::kNotFound));
  CHECK_THAT(store_.Remove(kKey), IsOk());
  for (const std::int64_t scanned : {1, 2}) {
    const absl::Status saved = store_.Save(kKey, *IndexOf(scanned));
    REQUIRE_THAT(saved, IsOk());
    const auto index = store_.Load(kKey);
    REQUIRE_THAT(index, IsOk());
    CHECK((*index)->parts().scanned_at_nanos == scanned);
    CHECK((*index)->At(0).object == "a/1.jpg");
  }
  CHECK(FilesIn(Directory()) == 1);
  CHECK(std::filesystem::exists(File()));
  for (const FolderKey& other :
       {FolderKey{0x10, 0xac, 1}, FolderKey{0x11, 0xab, 1},
        FolderKey{0x10, 0xab, 2}}) {
    CHECK_THAT(store_.Load(other), HasCode(absl::StatusCode::kNotFound));
  }
  CHECK_THAT(store_.Remove(kKey), IsOk());
  CHECK_THAT(store_.Load(kKey), HasCode(absl::StatusCode::kNotFound));
}

TEST_CASE_METHOD(FolderIndexStoreTest,
                 "A stored folder index holds its part of the memory budget",
                 "[folder][folder_index_store]") {
  REQUIRE_THAT(store_.Save(kKey, *IndexOf(1)), IsOk());
  CHECK(budget_.used() == 0);
  {
    const auto index = store_.Load(kKey);
    REQUIRE_THAT(index, IsOk());
    CHECK(budget_.used() == (*index)->memory());
  }
  CHECK(budget_.used() == 0);
  const auto others = budget_.Reserve(budget_.limit() - 100, "others");
  const absl::Status status = store_.Load(kKey).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(status.message(), Contains(File()));
}

TEST_CASE_METHOD(FolderIndexStoreTest,
                 "Only its owner may enter the folder index store",
                 "[folder][folder_index_store]") {
  REQUIRE_THAT(store_.Save(kKey, *IndexOf(1)), IsOk());
  using std::filesystem::perms;
  const auto others = perms::group_all | perms::others_all;
  CHECK((std::filesystem::status(Directory()).permissions() & others) ==
        perms::none);
  CHECK((std::filesystem::status(File()).permissions() & others) ==
        perms::none);
}

TEST_CASE_METHOD(FolderIndexStoreTest,
                 "The folder index store names damaged files",
                 "[folder][folder_index_store]") {
  REQUIRE_THAT(store_.Save(kKey, *IndexOf(1)), IsOk());
  for (const char* content : {"", "nonsense"}) {
    std::ofstream(File(), std::ios::binary) << content;
    const absl::Status status = store_.Load(kKey).status();
    CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
    CHECK_THAT(status.message(), Contains(File()));
  }
}

TEST_CASE_METHOD(FolderIndexStoreTest,
                 "The folder index store reads regular files only",
                 "[folder][folder_index_store]") {
  tree_.MakeFifo("indexes/10-ab-1.index");
  CHECK_THAT(store_.Load(kKey), HasCode(absl::StatusCode::kDataLoss));
  tree_.Remove("indexes/10-ab-1.index");
  tree_.Link("indexes/10-ab-1.index", "/dev/zero");
  CHECK_FALSE(store_.Load(kKey).ok());
}

TEST_CASE_METHOD(FolderIndexStoreTest,
                 "The folder index store names a directory that cannot be made",
                 "[folder][folder_index_store]") {
  tree_.Write("indexes", "a file in its place");
  const absl::Status status = store_.Save(kKey, *IndexOf(1));
  CHECK_FALSE(status.ok());
  CHECK_THAT(status.message(), Contains(Directory()));
}

// A limit on the size of files acts like a full disk: writing fails in the
// middle.
TEST_CASE_METHOD(
    FolderIndexStoreTest,
    "A failed write of the folder index store leaves what was there",
    "[folder][folder_index_store]") {
  REQUIRE_THAT(store_.Save(kKey, *IndexOf(1)), IsOk());
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit tight = {100, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &tight) == 0);
  const absl::Status status = store_.Save(kKey, *IndexOf(2));
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK_FALSE(status.ok());
  CHECK_THAT(status.message(), Contains(File()));
  CHECK(FilesIn(Directory()) == 1);
  const auto index = store_.Load(kKey);
  REQUIRE_THAT(index, IsOk());
  CHECK((*index)->parts().scanned_at_nanos == 1);
}

}  // namespace
}  // namespace forebay::dataset::folder
