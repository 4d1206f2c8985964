// Tests of files that no library writes, and of the memory and time that they
// would cost.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/memory_budget.h"
#include "server/base/status.h"
#include "server/dataset/hdf5/checksum.h"
#include "server/dataset/hdf5/hdf5_format.h"
#include "server/dataset/hdf5/tree.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/hdf5/golden_hdf5.h"

namespace forebay::dataset::hdf5 {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;
using tests::SizeIs;

class HostileHdf5Test {
 protected:
  absl::Status Find(const std::string& file, const std::string& path) {
    FileView view(file.size(), {}, &memory_);
    return LookInto(file, view, [&](FileView& looked) {
      return FindFirstArray(looked, path).status();
    });
  }

  absl::Status Parse(const std::string& file, const std::string& path,
                     bool is_kept) {
    FileView view(file.size(), {}, &memory_);
    NamedArray found;
    FOREBAY_RETURN_IF_ERROR(LookInto(file, view, [&](FileView& looked) {
      FOREBAY_ASSIGN_OR_RETURN(found, FindFirstArray(looked, path));
      return absl::OkStatus();
    }));
    FOREBAY_ASSIGN_OR_RETURN(Hdf5Column column,
                             ColumnOf(found.array, found.path, found.member));
    column.is_kept = is_kept;
    const Hdf5Format format({column}, nullptr);
    FOREBAY_ASSIGN_OR_RETURN(
        auto parser,
        format.Parse({"a.h5", {.size = file.size()}}, {}, &memory_));
    while (const auto read = parser->next_read()) {
      FOREBAY_RETURN_IF_ERROR(parser->Take(
          AsBytes(std::string_view(file).substr(read->offset, read->length))));
    }
    return absl::OkStatus();
  }

  // Returns the datasets of a file, each with its status.
  std::vector<std::string> List(const std::string& file) {
    FileView view(file.size(), {}, &memory_);
    ArrayLister lister(&memory_);
    const absl::Status status = LookInto(
        file, view, [&](FileView& looked) { return lister.Run(looked); });
    if (!status.ok()) return {status.ToString()};
    std::vector<std::string> listed;
    for (const ListedArray& one : lister.datasets())
      listed.push_back(one.path + ": " + one.array.status().ToString());
    return listed;
  }

  base::MemoryBudget budget_{1 << 26};
  base::WorkingMemory memory_{&budget_, "a test"};
};

void Set(std::uint64_t number, std::size_t bytes, std::size_t at,
         std::string* file) {
  std::string text;
  Append(number, bytes, &text);
  file->replace(at, bytes, text);
}

// The references become shorter than the bytes that the parser reads of each.
TEST_CASE_METHOD(HostileHdf5Test,
                 "HDF5 references have one size and others are refused",
                 "[hdf5][hostile_hdf5]") {
  std::string file = GoldenFile("small_earliest.h5");
  const std::string type("\x19\0\0\0\x10\0\0\0", 8);
  const std::size_t at = file.find(type);
  REQUIRE(at != file.npos);
  REQUIRE_THAT(Parse(file, "jpg", true), IsOk());
  file[at + 4] = 1;
  for (const bool is_kept : {true, false}) {
    const absl::Status status = Parse(file, "jpg", is_kept);
    CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
    CHECK_THAT(status.ToString(),
               Contains("jpg: is damaged: its datatype contradicts itself"));
  }
}

// If such fill values were not read, they would seem to be zeros, and such
// filters to be absent.
TEST_CASE_METHOD(HostileHdf5Test,
                 "The HDF5 parser names shared messages that it does not read",
                 "[hdf5][hostile_hdf5]") {
  const std::string file = GoldenFile("shared_messages.h5");
  const absl::Status status = Find(file, "y");
  CHECK_THAT(status, HasCode(absl::StatusCode::kUnimplemented));
  CHECK_THAT(status.ToString(), Contains("y: has its fi"));
  CHECK_THAT(status.ToString(),
             Contains(" in a heap of shared messages, which is not read"));
  // The file's other datasets can be read.
  const std::vector<std::string> listed = List(file);
  REQUIRE_THAT(listed, SizeIs(3));
  CHECK_THAT(listed[1], Contains("in a heap of shared messages"));
}

// Returns a file whose root group has the old format (HDF5 File Format
// Specification v3.0, III). The group has a B-tree, a local heap and a symbol
// table node. All symbols share the heap's one name.
std::string GroupOfOneName(std::uint64_t symbols, std::uint64_t name_bytes) {
  constexpr std::uint64_t kHeader = 96;
  constexpr std::uint64_t kTree = kHeader + 40;
  constexpr std::uint64_t kHeap = kTree + 48;
  constexpr std::uint64_t kNames = kHeap + 32;
  const std::uint64_t table = kNames + name_bytes + 8;
  const std::uint64_t end = table + 8 + symbols * 40;
  std::string file("\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0", 16);
  Append(4, 2, &file);
  Append(16, 2, &file);
  Append(0, 4, &file);
  for (const std::uint64_t one : {std::uint64_t{0}, UINT64_MAX, end, UINT64_MAX,
                                  std::uint64_t{0}, kHeader})
    Append(one, 8, &file);
  file.resize(kHeader);
  for (const std::uint64_t one : {1, 1}) Append(one, 2, &file);
  Append(1, 4, &file);
  Append(24, 4, &file);
  Append(0, 4, &file);
  Append(0x11, 2, &file);
  Append(16, 2, &file);
  Append(0, 4, &file);
  Append(kTree, 8, &file);
  Append(kHeap, 8, &file);
  file += std::string("TREE\0\0\1\0", 8);
  for (const std::uint64_t one :
       {UINT64_MAX, UINT64_MAX, std::uint64_t{0}, table, std::uint64_t{0}})
    Append(one, 8, &file);
  file.resize(kHeap);
  file += std::string("HEAP\0\0\0\0", 8);
  for (const std::uint64_t one : {name_bytes, std::uint64_t{1}, kNames})
    Append(one, 8, &file);
  file += std::string(name_bytes - 1, 'a') + '\0';
  file.resize(table);
  file += std::string("SNOD\1\0", 6);
  Append(symbols, 2, &file);
  for (std::uint64_t i = 0; i < symbols; ++i) {
    Append(0, 8, &file);
    Append(kHeader, 8, &file);
    file.resize(file.size() + 24);
  }
  return file;
}

TEST_CASE_METHOD(
    HostileHdf5Test,
    "The names in an HDF5 group have places of their own or are refused",
    "[hdf5][hostile_hdf5]") {
  // A single symbol may have the name.
  CHECK_THAT(Find(GroupOfOneName(1, 100), "x").ToString(),
             Contains("is not there: the file has aaa"));
  const absl::Status status = Find(GroupOfOneName(60000, 100000), "x");
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(status.ToString(), Contains("a group contradicts itself"));
}

// libhdf5 refuses such superblocks, although no value depends on these bytes.
TEST_CASE_METHOD(HostileHdf5Test,
                 "HDF5 superblocks that are not sound are refused",
                 "[hdf5][hostile_hdf5]") {
  const std::string whole = GoldenFile("small_earliest.h5");
  REQUIRE_THAT(Find(whole, "jpg"), IsOk());
  // The first three offsets are the versions of free space, of the root's entry
  // and of shared messages. The others are in the addresses of free space and
  // of the base, and in the entry's cache type.
  for (const std::size_t at : {9, 10, 12, 32, 27, 75}) {
    std::string file = whole;
    file[at] = static_cast<char>(file[at] ^ 0x40);
    CAPTURE(at);
    CHECK_THAT(Find(file, "jpg"), HasCode(absl::StatusCode::kDataLoss));
  }
  std::string file = whole;
  file[16] = file[17] = 0;
  CHECK_THAT(Find(file, "jpg"), HasCode(absl::StatusCode::kDataLoss));
  file = whole;
  file[52] = 0;
  CHECK_THAT(Find(file, "jpg").ToString(),
             Contains("it has a driver information block"));
}

TEST_CASE_METHOD(
    HostileHdf5Test,
    "HDF5 free blocks that lie outside their heap or repeat are refused",
    "[hdf5][hostile_hdf5]") {
  std::string file = GroupOfOneName(1, 100);
  const std::size_t heap = file.find("HEAP");
  Set(100, 8, heap + 16, &file);
  CHECK_THAT(Find(file, "x").ToString(), Contains("contradicts itself"));
  // The heap's free block names itself as the next one.
  file = GroupOfOneName(1, 100);
  const std::size_t block = file.find("HEAP") + 32 + 40;
  Set(40, 8, file.find("HEAP") + 16, &file);
  Set(40, 8, block, &file);
  Set(16, 8, block + 8, &file);
  CHECK_THAT(Find(file, "x").ToString(), Contains("contradicts itself"));
}

// The file has an extensible array of chunks. Its super block claims that each
// of many pages was written.
TEST_CASE_METHOD(HostileHdf5Test,
                 "HDF5 index pages that the file has no place for are refused",
                 "[hdf5][hostile_hdf5]") {
  constexpr std::uint64_t kSuper = 20;
  std::string file = GoldenFile("sparse_latest.h5");
  const std::size_t header = file.find("EAHD");
  REQUIRE(header != file.npos);
  const auto sum = [](std::string_view bytes) {
    return Lookup3(AsBytes(bytes));
  };
  REQUIRE(file[header + 5] == 0);  // the chunks have no filters
  file.replace(header + 7, 5, std::string("\x20\0\1\1\0", 5));
  const std::uint64_t index = file.size();
  const std::uint64_t super = index + 14 + 33 * 8 + 4;
  Set(index, 8, header + 60, &file);
  Set(sum(std::string_view(file).substr(header, 68)), 4, header + 68, &file);
  std::string block("EAIB\0\0", 6);
  Append(header, 8, &block);
  for (std::uint64_t i = 0; i < 33; ++i)
    Append(i == kSuper ? super : UINT64_MAX, 8, &block);
  Append(sum(block), 4, &block);
  file += block;
  constexpr std::uint64_t kBlocks = 1 << (kSuper / 2);
  block = std::string("EASB\0\0", 6);
  Append(header, 8, &block);
  Append(0, 4, &block);
  block += std::string(kBlocks * kBlocks / 8, '\xff');
  block += std::string(kBlocks * 8, '\0');
  Append(sum(block), 4, &block);
  file += block;
  Set(file.size(), 8, 28, &file);  // the superblock's end of file address
  Set(sum(std::string_view(file).substr(0, 44)), 4, 44, &file);
  const absl::Status status = Parse(file, "rows", false);
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(status.ToString(),
             Contains("an index of chunks contradicts itself"));
}

// The names in a block of links are those of samples, and are used to find
// them.
TEST_CASE_METHOD(HostileHdf5Test,
                 "An HDF5 block of links with a wrong checksum is refused",
                 "[hdf5][hostile_hdf5]") {
  const std::string whole = GoldenFile("groups_latest.h5");
  REQUIRE_THAT(Find(whole, "a/b/c/d"), IsOk());
  int blocks = 0;
  for (std::size_t at = whole.find("FHDB"); at != whole.npos;
       at = whole.find("FHDB", at + 1)) {
    // The bytes are in the signature, the address of the header, the checksum,
    // and the name of a link.
    for (const std::size_t byte : {0, 6, 17, 50}) {
      std::string file = whole;
      file[at + byte] = static_cast<char>(file[at + byte] ^ 1);
      CAPTURE(at, byte);
      const std::vector<std::string> damaged = List(file);
      REQUIRE_THAT(damaged, SizeIs(1));
      CHECK_THAT(damaged[0], Contains("DATA_LOSS"));
      if (byte == 0) continue;
      CHECK_THAT(damaged[0], Contains(absl::StrCat(" bytes of links at byte ",
                                                   at, " is wrong")));
    }
    ++blocks;
  }
  CHECK(blocks == 13);
}

// The pages after the block's prefix have checksums of their own.
TEST_CASE_METHOD(HostileHdf5Test,
                 "An HDF5 block of pages with a wrong checksum is refused",
                 "[hdf5][hostile_hdf5]") {
  constexpr std::size_t kPrefix = 18;
  const std::string whole = GoldenFile("sparse_latest.h5");
  REQUIRE_THAT(Parse(whole, "rows", false), IsOk());
  int blocks = 0;
  for (std::size_t at = whole.find("EADB"); at != whole.npos;
       at = whole.find("EADB", at + 1)) {
    std::string sum;
    Append(Lookup3(AsBytes(std::string_view(whole).substr(at, kPrefix))), 4,
           &sum);
    if (whole.substr(at + kPrefix, 4) != sum) continue;  // has no pages
    ++blocks;
    std::string file = whole;
    file[at + 6] = static_cast<char>(file[at + 6] ^ 1);
    CAPTURE(at);
    const absl::Status status = Parse(file, "rows", false);
    CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
    CHECK_THAT(status.ToString(), Contains("the checksum of 22 bytes"));
  }
  CHECK(blocks == 2);
}

// All objects are the group itself, which is listed only once.
TEST_CASE_METHOD(HostileHdf5Test,
                 "An HDF5 file may have as many objects as its limit says",
                 "[hdf5][hostile_hdf5]") {
  for (const std::uint64_t objects : {4096, 4097}) {
    std::string file = GroupOfOneName(objects, 10000);
    file[file.find("aaa") + 1] = '\0';  // all names are "a"
    CAPTURE(objects);
    const std::vector<std::string> listed = List(file);
    CHECK(listed.empty() == (objects == 4096));
    if (listed.empty()) continue;
    CHECK_THAT(listed[0], Contains("has more than 4096 objects"));
  }
}

// Sets the version and the consistency flags of a superblock of version 2 or 3,
// and its checksum.
void SetFlags(unsigned version, unsigned flags, std::string* file) {
  Set(version, 1, 8, file);
  Set(flags, 1, 11, file);
  Set(Lookup3(AsBytes(std::string_view(*file).substr(0, 44))), 4, 44, file);
}

TEST_CASE_METHOD(HostileHdf5Test,
                 "An HDF5 file that a writer may have open is refused",
                 "[hdf5][hostile_hdf5]") {
  std::string file = GoldenFile("small_latest.h5");
  REQUIRE(file[8] == 3);
  const absl::Status unmarked = Find(file, "");
  for (const unsigned version : {2, 3}) {
    // The second bit has no meaning in either version.
    for (const unsigned flags : {0, 2}) {
      SetFlags(version, flags, &file);
      CAPTURE(flags);
      CHECK(Find(file, "") == unmarked);
    }
    for (const unsigned flags : {1, 4, 5}) {
      SetFlags(version, flags, &file);
      const absl::Status status = Find(file, "");
      CHECK_THAT(status, HasCode(absl::StatusCode::kFailedPrecondition));
      CHECK_THAT(status.ToString(),
                 Contains(flags == 1 ? "is marked as open for writing: "
                                     : "is marked as open for SWMR writing"));
      CHECK_THAT(status.ToString(), Contains("`h5clear -s`"));
    }
  }
}

}  // namespace
}  // namespace forebay::dataset::hdf5
