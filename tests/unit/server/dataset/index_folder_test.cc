#include "server/dataset/index_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "server/dataset/own_file.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset {
namespace {

class IndexFolderTest : public testing::Test {
 protected:
  // A file that was used so many days ago.
  void Write(const std::string& name, std::size_t bytes, int days) {
    tree_.Write(name, std::string(bytes, 'x'));
    timespec times[2] = {{1'700'000'000 - 86'400 * days, 0}};
    times[1] = times[0];
    const std::string path = tree_.path() + "/" + name;
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(tree_.path()))
      names.insert(entry.path().filename());
    return names;
  }

  ScratchTree tree_;
};

TEST_F(IndexFolderTest, WhatWasUsedLongAgoGoesFirst) {
  Write("0a.records", 100, 1);
  Write("0a.records.points", 300, 2);
  Write("0b.zips", 100, 5);
  Write("10-ab-1.index", 100, 4);
  Write("0c.shards.points.Xa3b4c", 100, 6);
  TrimIndexFolder(tree_.path(), 700);
  EXPECT_EQ(Names().size(), 5);
  TrimIndexFolder(tree_.path(), 520);
  EXPECT_EQ(Names(), (std::set<std::string>{"0a.records", "0a.records.points",
                                            "10-ab-1.index"}));
  TrimIndexFolder(tree_.path(), 400);
  EXPECT_EQ(Names(),
            (std::set<std::string>{"0a.records", "0a.records.points"}));
  TrimIndexFolder(tree_.path(), 0);
  EXPECT_EQ(Names(), (std::set<std::string>{"0a.records"}));
}

TEST_F(IndexFolderTest, ReadingIsUse) {
  Write("0a.records", 100, 3);
  Write("0b.records", 100, 2);
  ASSERT_TRUE(OpenOwnFile(tree_.path() + "/0a.records").ok());
  TrimIndexFolder(tree_.path(), 100);
  EXPECT_EQ(Names(), (std::set<std::string>{"0a.records"}));
}

TEST_F(IndexFolderTest, WhatIsNoIndexStays) {
  const std::set<std::string> names = {
      "notes.records", "0a.recordset", "0a", "records", "0b.jpg", "0a.records"};
  for (const std::string& name : names) Write(name, 10, 9);
  tree_.MakeFifo("0a.zips");
  TrimIndexFolder(tree_.path(), 0);
  std::set<std::string> left = names;
  left.insert("0a.zips");
  EXPECT_EQ(Names(), left);
}

TEST_F(IndexFolderTest, HalfOfTheDiskIsForIt) {
  Write("0a.records", 1 << 20, 1);
  const std::uint64_t room = RoomInIndexFolder(tree_.path());
  EXPECT_GE(room, std::uint64_t{1} << 19);
  EXPECT_LE(room, std::filesystem::space(tree_.path()).capacity);
  EXPECT_EQ(RoomInIndexFolder(tree_.path() + "/none"), UINT64_MAX);
  TrimIndexFolder(tree_.path() + "/none", 0);
}

}  // namespace
}  // namespace forebay::dataset
