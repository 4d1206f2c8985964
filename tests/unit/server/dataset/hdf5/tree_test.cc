// Tests of listings of groups within groups.
#include "server/dataset/hdf5/tree.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/base/memory_budget.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/hdf5/golden_hdf5.h"

namespace forebay::dataset::hdf5 {
namespace {

using tests::Contains;
using tests::IsEmpty;
using tests::IsOk;
using tests::SizeIs;

constexpr std::uint64_t kFirstGroup = 96;  // address; the superblock ends there

// Bytes of a group that AppendGroup appends.
std::uint64_t GroupBytes(std::string_view names) {
  return 40 + 48 + 32 + 16 + 8 + 40 * names.size();
}

// Appends a group of the old format (HDF5 File Format Specification v3.0, III):
// an object header, a B-tree, a local heap and a symbol table node. Each letter
// of `names` is the name of a link to the address `target`.
void AppendGroup(std::string_view names, std::uint64_t target,
                 std::string* file) {
  const std::uint64_t tree = file->size() + 40;
  const std::uint64_t heap = tree + 48;
  const std::uint64_t table = heap + 32 + 16;
  *file += std::string("\1\0\1\0\1\0\0\0\x18\0\0\0\0\0\0\0", 16);
  *file += std::string("\x11\0\x10\0\0\0\0\0", 8);  // a Symbol Table message
  Append(tree, 8, file);
  Append(heap, 8, file);
  *file += std::string("TREE\0\0\1\0", 8);
  for (const std::uint64_t one :
       {UINT64_MAX, UINT64_MAX, std::uint64_t{0}, table, std::uint64_t{0}})
    Append(one, 8, file);
  *file += std::string("HEAP\0\0\0\0", 8);
  for (const std::uint64_t one :
       {std::uint64_t{16}, std::uint64_t{1}, heap + 32})
    Append(one, 8, file);
  for (const char name : names) *file += {name, '\0'};
  file->resize(table);
  *file += std::string("SNOD\1\0", 6);
  Append(names.size(), 2, file);
  for (std::uint64_t i = 0; i < names.size(); ++i) {
    Append(2 * i, 8, file);  // offset of the name
    Append(target, 8, file);
    file->resize(file->size() + 24);
  }
}

// Returns a file of `depth` groups within groups below the root. The links of
// each group lead to the next group, and have the letters of `names` as names.
std::string NestedGroups(int depth, std::string_view names) {
  const std::uint64_t end =
      kFirstGroup + static_cast<std::uint64_t>(depth) * GroupBytes(names) +
      GroupBytes("");
  std::string file("\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0\4\0\x10\0\0\0\0\0",
                   24);
  for (const std::uint64_t one : {std::uint64_t{0}, UINT64_MAX, end, UINT64_MAX,
                                  std::uint64_t{0}, kFirstGroup})
    Append(one, 8, &file);
  file.resize(kFirstGroup);
  for (int i = 0; i < depth; ++i)
    AppendGroup(names, file.size() + GroupBytes(names), &file);
  AppendGroup("", 0, &file);
  return file;
}

// Returns the listed objects, each with its error.
std::vector<std::string> List(const std::string& file) {
  base::MemoryBudget budget(1 << 26);
  base::WorkingMemory memory(&budget, "a test");
  FileView view(file.size(), {}, &memory);
  ArrayLister lister(&memory);
  CHECK_THAT(LookInto(file, view,
                      [&](FileView& looked) { return lister.Run(looked); }),
             IsOk());
  std::vector<std::string> listed;
  for (const ListedArray& one : lister.datasets())
    listed.push_back(one.path + ": " + one.array.status().ToString());
  return listed;
}

// Returns the path of the group that is `depth` groups below the root.
std::string PathOf(int depth) {
  std::string path = "a";
  for (int i = 1; i < depth; ++i) path += "/a";
  return path;
}

TEST_CASE("HDF5 groups below too many others are named in a listing",
          "[hdf5][tree]") {
  CHECK_THAT(List(NestedGroups(31, "a")), IsEmpty());
  const std::vector<std::string> listed = List(NestedGroups(40, "a"));
  REQUIRE_THAT(listed, SizeIs(1));
  CHECK_THAT(listed[0],
             Contains(PathOf(32) +
                      ": UNIMPLEMENTED: is a group below 32 others, whose "
                      "datasets are not listed"));
}

// Each group has two names in the group above it.
TEST_CASE("HDF5 groups with several names are listed under the first",
          "[hdf5][tree]") {
  const std::vector<std::string> listed = List(NestedGroups(32, "ab"));
  REQUIRE_THAT(listed, SizeIs(2));
  CHECK_THAT(listed[0], Contains(PathOf(32) + ": UNIMPLEMENTED"));
  CHECK_THAT(listed[1], Contains(PathOf(31) + "/b: UNIMPLEMENTED"));
}

}  // namespace
}  // namespace forebay::dataset::hdf5
