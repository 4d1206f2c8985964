#include "server/dataset/index_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <string>

#include "server/dataset/own_file.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset {
namespace {

using tests::IsOk;

// Returns the name of an index: a digest and an extension.
std::string Name(char digit, const std::string& ending) {
  return std::string(32, digit) + ending;
}

class IndexFolderTest {
 protected:
  // Writes a file whose last use was `days` days ago.
  void Write(const std::string& name, std::size_t bytes, int days) {
    tree_.Write(name, std::string(bytes, 'x'));
    timespec times[2] = {{1'700'000'000 - 86'400 * days, 0}};
    times[1] = times[0];
    const std::string path = tree_.path() + "/" + name;
    REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
  }

  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(tree_.path()))
      names.insert(entry.path().filename());
    return names;
  }

  ScratchTree tree_;
};

TEST_CASE_METHOD(
    IndexFolderTest,
    "Trimming the index folder removes first what was used long ago",
    "[dataset][index_folder]") {
  Write(Name('a', ".records"), 100, 1);
  Write(Name('a', ".records.points"), 300, 2);
  Write(Name('b', ".zips"), 100, 5);
  Write("10-ab-1.index", 100, 4);
  Write(Name('c', ".shards.points.Xa3b4c"), 100, 6);
  TrimIndexFolder(tree_.path(), 700);
  CHECK(Names().size() == 5);
  TrimIndexFolder(tree_.path(), 520);
  CHECK(Names() == std::set<std::string>{Name('a', ".records"),
                                         Name('a', ".records.points"),
                                         "10-ab-1.index"});
  TrimIndexFolder(tree_.path(), 400);
  CHECK(Names() == std::set<std::string>{Name('a', ".records"),
                                         Name('a', ".records.points")});
  TrimIndexFolder(tree_.path(), 0);
  CHECK(Names() == std::set<std::string>{Name('a', ".records")});
}

TEST_CASE_METHOD(IndexFolderTest,
                 "Reading an index counts as use in the index folder",
                 "[dataset][index_folder]") {
  Write(Name('a', ".records"), 100, 3);
  Write(Name('b', ".records"), 100, 2);
  REQUIRE_THAT(OpenOwnFile(tree_.path() + "/" + Name('a', ".records")), IsOk());
  TrimIndexFolder(tree_.path(), 100);
  CHECK(Names() == std::set<std::string>{Name('a', ".records")});
}

TEST_CASE_METHOD(IndexFolderTest,
                 "Trimming the index folder leaves files that are not indexes",
                 "[dataset][index_folder]") {
  const std::set<std::string> names = {
      "notes.records", "0a.records",         "records",     "00001.jpg",
      "1-2-x.index",   "1-2-3.jpg",          Name('a', ""), Name('x', ".zips"),
      Name('b', "x"),  Name('b', ".records")};
  for (const std::string& name : names) Write(name, 10, 9);
  tree_.MakeFifo(Name('c', ".zips"));
  TrimIndexFolder(tree_.path(), 0);
  std::set<std::string> left = names;
  left.insert(Name('c', ".zips"));
  CHECK(Names() == left);
}

TEST_CASE_METHOD(IndexFolderTest, "The index folder may use half of the disk",
                 "[dataset][index_folder]") {
  Write(Name('a', ".records"), 1 << 20, 1);
  const std::uint64_t room = RoomInIndexFolder(tree_.path());
  CHECK(room >= std::uint64_t{1} << 19);
  CHECK(room <= std::filesystem::space(tree_.path()).capacity);
  CHECK(RoomInIndexFolder(tree_.path() + "/none") == UINT64_MAX);
  TrimIndexFolder(tree_.path() + "/none", 0);
}

}  // namespace
}  // namespace forebay::dataset
