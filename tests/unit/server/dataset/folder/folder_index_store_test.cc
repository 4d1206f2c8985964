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

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset::folder {
namespace {

using testing::HasSubstr;

const FolderKey kKey = {0x10, 0xab, 1};

std::shared_ptr<const FolderIndex> IndexOf(std::int64_t scanned_at_nanos) {
  FolderIndexParts parts;
  parts.names = "a1.jpg";
  parts.directories.resize(2);
  parts.directories[1] = {0, 1, 0, 0, {}};
  parts.records.emplace_back(0, 5, 100, 200);
  parts.scanned_at_nanos = scanned_at_nanos;
  auto index = FolderIndex::Create(std::move(parts));
  EXPECT_TRUE(index.ok()) << index.status();
  return *std::move(index);
}

int FilesIn(const std::string& path) {
  const std::filesystem::directory_iterator entries(path);
  return std::distance(begin(entries), end(entries));
}

class FolderIndexStoreTest : public testing::Test {
 protected:
  std::string File() const { return Directory() + "/10-ab-1.index"; }
  std::string Directory() const { return tree_.path() + "/indexes"; }

  ScratchTree tree_;
  base::MemoryBudget budget_{std::uint64_t{1} << 20};
  const FolderIndexStore store_ = FolderIndexStore(Directory(), &budget_);
};

TEST_F(FolderIndexStoreTest, KeepsAndReplacesAndRemoves) {
  EXPECT_EQ(store_.Load(kKey).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(store_.Remove(kKey).ok());
  for (const std::int64_t scanned : {1, 2}) {
    const absl::Status saved = store_.Save(kKey, *IndexOf(scanned));
    ASSERT_TRUE(saved.ok()) << saved;
    const auto index = store_.Load(kKey);
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_EQ((*index)->parts().scanned_at_nanos, scanned);
    EXPECT_EQ((*index)->At(0).object, "a/1.jpg");
  }
  EXPECT_EQ(FilesIn(Directory()), 1);
  EXPECT_TRUE(std::filesystem::exists(File()));
  for (const FolderKey& other :
       {FolderKey{0x10, 0xac, 1}, FolderKey{0x11, 0xab, 1},
        FolderKey{0x10, 0xab, 2}}) {
    EXPECT_EQ(store_.Load(other).status().code(), absl::StatusCode::kNotFound);
  }
  EXPECT_TRUE(store_.Remove(kKey).ok());
  EXPECT_EQ(store_.Load(kKey).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(FolderIndexStoreTest, AnIndexHoldsItsPartOfTheBudget) {
  ASSERT_TRUE(store_.Save(kKey, *IndexOf(1)).ok());
  EXPECT_EQ(budget_.used(), 0);
  {
    const auto index = store_.Load(kKey);
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_EQ(budget_.used(), (*index)->memory());
  }
  EXPECT_EQ(budget_.used(), 0);
  const auto others = budget_.Reserve(budget_.limit() - 100, "others");
  const absl::Status status = store_.Load(kKey).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr(File()));
}

TEST_F(FolderIndexStoreTest, OnlyItsOwnerMayEnter) {
  ASSERT_TRUE(store_.Save(kKey, *IndexOf(1)).ok());
  using std::filesystem::perms;
  const auto others = perms::group_all | perms::others_all;
  EXPECT_EQ(std::filesystem::status(Directory()).permissions() & others,
            perms::none);
  EXPECT_EQ(std::filesystem::status(File()).permissions() & others,
            perms::none);
}

TEST_F(FolderIndexStoreTest, NamesDamagedFiles) {
  ASSERT_TRUE(store_.Save(kKey, *IndexOf(1)).ok());
  for (const char* content : {"", "nonsense"}) {
    std::ofstream(File(), std::ios::binary) << content;
    const absl::Status status = store_.Load(kKey).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr(File()));
  }
}

TEST_F(FolderIndexStoreTest, ReadsRegularFilesOnly) {
  tree_.MakeFifo("indexes/10-ab-1.index");
  EXPECT_EQ(store_.Load(kKey).status().code(), absl::StatusCode::kDataLoss);
  tree_.Remove("indexes/10-ab-1.index");
  tree_.Link("indexes/10-ab-1.index", "/dev/zero");
  EXPECT_FALSE(store_.Load(kKey).ok());
}

TEST_F(FolderIndexStoreTest, NamesADirectoryThatCannotBeMade) {
  tree_.Write("indexes", "a file in its place");
  const absl::Status status = store_.Save(kKey, *IndexOf(1));
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(Directory()));
}

// A limit on the size of files stands in for a full disk: writing fails half
// way.
TEST_F(FolderIndexStoreTest, AFailedWriteLeavesWhatWasThere) {
  ASSERT_TRUE(store_.Save(kKey, *IndexOf(1)).ok());
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit tight = {100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const absl::Status status = store_.Save(kKey, *IndexOf(2));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(File()));
  EXPECT_EQ(FilesIn(Directory()), 1);
  const auto index = store_.Load(kKey);
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ((*index)->parts().scanned_at_nanos, 1);
}

}  // namespace
}  // namespace forebay::dataset::folder
