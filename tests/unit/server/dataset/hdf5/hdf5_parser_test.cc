#include "server/dataset/hdf5/hdf5_parser.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/base/memory_budget.h"
#include "server/dataset/hdf5/hdf5_format.h"
#include "server/dataset/records/compressed_keys.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/hdf5/golden_hdf5.h"
#include "tests/unit/server/dataset/hdf5/read_rows.h"

namespace forebay::dataset::hdf5 {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;
using tests::SizeIs;

class Hdf5ParserTest {
 protected:
  absl::StatusOr<Hdf5Column> Find(const std::string& file,
                                  const std::string& path, bool is_kept) {
    return FindColumn(file, path, is_kept, &memory_);
  }

  absl::StatusOr<records::FileRecords> Parse(const std::string& file,
                                             const Hdf5Format& format,
                                             const ReadSizes& sizes = {}) {
    return FindRows(file, format, sizes, &memory_, &reads_);
  }

  // Returns the values of all rows, one after the other.
  static std::string ValuesOf(const std::string& file, const Hdf5Format& format,
                              const records::FileRecords& found) {
    const auto values = ReadRows(file, format, found, 1);
    CHECK_THAT(values, IsOk());
    return values.ok() ? values->front() : std::string();
  }

  base::MemoryBudget budget_{1 << 26};
  base::WorkingMemory memory_{&budget_, "a test"};
  int reads_ = 0;
};

bool IsCompact(const std::string& path) { return path == "compact"; }

TEST_CASE_METHOD(Hdf5ParserTest, "The HDF5 parser reads what h5py reads",
                 "[hdf5][hdf5_parser]") {
  for (const GoldenHdf5& golden : GoldenHdf5s()) {
    const std::string file = GoldenFile(golden.file);
    for (const GoldenColumn& expected : golden.columns) {
      for (const bool is_kept : {true, false}) {
        INFO(golden.file + " " + expected.path + (is_kept ? " kept" : " read"));
        if (!is_kept && IsCompact(expected.path)) continue;
        const auto column = Find(file, expected.path, is_kept);
        REQUIRE_THAT(column, IsOk());
        const Hdf5Format format({*column}, &budget_);
        const auto again = Hdf5Format::Parse(format.text(), &budget_);
        REQUIRE_THAT(again, IsOk());
        CHECK((*again)->text() == format.text());
        const auto found = Parse(file, **again);
        REQUIRE_THAT(found, IsOk());
        REQUIRE_THAT(found->ends, SizeIs(expected.rows));
        const std::string values = ValuesOf(file, **again, *found);
        CHECK(values.size() == expected.bytes);
        CHECK(crc32(0, AsBytes(values).data(),
                    static_cast<uInt>(values.size())) == expected.crc);
      }
    }
  }
}

// The parser finds the same rows however many bytes it reads at a time.
TEST_CASE_METHOD(Hdf5ParserTest,
                 "The HDF5 parser finds the same rows in small reads",
                 "[hdf5][hdf5_parser]") {
  const std::string file = GoldenFile("chunks_latest.h5");
  for (const char* const path : {"first/all", "text", "cubes"}) {
    const auto column = Find(file, path, true);
    REQUIRE_THAT(column, IsOk());
    const Hdf5Format format({*column}, &budget_);
    const auto much = Parse(file, format, {.min = 1 << 20, .max = 1 << 20});
    const auto little = Parse(file, format, {.min = 1, .max = 1});
    REQUIRE_THAT(much, IsOk());
    REQUIRE_THAT(little, IsOk());
    CHECK(much->keys.bytes == little->keys.bytes);
    CHECK(much->ends == little->ends);
  }
}

// The walk through a group goes on where bytes were missing.
TEST_CASE_METHOD(Hdf5ParserTest,
                 "The HDF5 parser finds the same samples in small reads",
                 "[hdf5][hdf5_parser]") {
  for (const char* const name : {"samples_earliest.h5", "samples_latest.h5"}) {
    const std::string file = GoldenFile(name);
    const auto column = Find(file, "data/*/text", true);
    REQUIRE_THAT(column, IsOk());
    const Hdf5Format format({*column}, &budget_);
    const auto much = Parse(file, format, {.min = 1 << 20, .max = 1 << 20});
    const auto little = Parse(file, format, {.min = 1, .max = 1});
    UNSCOPED_INFO(much.status() << little.status());
    REQUIRE_THAT(much, IsOk());
    REQUIRE_THAT(little, IsOk());
    CHECK(much->keys.bytes == little->keys.bytes);
    CHECK_THAT(little->ends, SizeIs(12));
  }
}

// A row may be long, although the wanted member of it is short.
TEST_CASE_METHOD(Hdf5ParserTest,
                 "The HDF5 format makes of rows only what is wanted",
                 "[hdf5][hdf5_parser]") {
  const std::string file = GoldenFile("rare_latest.h5");
  const auto column = Find(file, "not_written/y", false);
  REQUIRE_THAT(column, IsOk());
  const Hdf5Format format({*column}, &budget_);
  const auto found = Parse(file, format);
  REQUIRE_THAT(found, IsOk());
  records::KeyReader keys(found->keys.bytes);
  REQUIRE(keys.Next());
  ValueBuffers buffers;
  FieldValue value;
  REQUIRE_THAT(format.ReadKeyedValues(keys.key(), AsBytes(file).first(1),
                                      absl::MakeSpan(&value, 1), &buffers),
               IsOk());
  CHECK(std::get<std::int64_t>(value) == 513);
  CHECK(buffers.bytes() <= 4u);
}

// Chunks are decompressed into memory of the caller.
TEST_CASE_METHOD(Hdf5ParserTest,
                 "The HDF5 format decompresses chunks into the room for them",
                 "[hdf5][hdf5_parser]") {
  const std::string file = GoldenFile("chunks_latest.h5");
  for (const char* const path : {"first/all", "first/all_parts"}) {
    const auto column = Find(file, path, false);
    REQUIRE_THAT(column, IsOk());
    const Hdf5Format format({*column}, nullptr);
    const auto found = Parse(file, format);
    REQUIRE_THAT(found, IsOk());
    records::KeyReader keys(found->keys.bytes);
    REQUIRE(keys.Next());
    std::vector<std::uint8_t> scratch;
    const auto ask = [&](std::uint64_t bytes) {
      UNSCOPED_INFO("asked twice");
      CHECK(scratch.empty());
      scratch.resize(bytes);
      return absl::MakeSpan(scratch);
    };
    const DecompressionRoom room = ask;
    ValueBuffers buffers(&room);
    FieldValue value;
    const auto record = AsBytes(file).subspan(
        found->begins[0], found->ends[0] - found->begins[0]);
    REQUIRE_THAT(format.ReadKeyedValues(keys.key(), record,
                                        absl::MakeSpan(&value, 1), &buffers),
                 IsOk());
    CHECK(scratch.size() >= column->row_bytes);
    CHECK(buffers.bytes() == column->row_bytes);
  }
}

// The metadata of many chunks is read in large pieces.
TEST_CASE_METHOD(
    Hdf5ParserTest,
    "The HDF5 parser reads the metadata of many chunks in a few pieces",
    "[hdf5][hdf5_parser]") {
  const std::string file = GoldenFile("many_latest.h5");
  const auto column = Find(file, "first", false);
  REQUIRE_THAT(column, IsOk());
  const Hdf5Format format({*column}, &budget_);
  REQUIRE_THAT(Parse(file, format), IsOk());
  CHECK(reads_ < 20);
}

TEST_CASE_METHOD(Hdf5ParserTest,
                 "The HDF5 parser gives back the memory of its work",
                 "[hdf5][hdf5_parser]") {
  const std::string file = GoldenFile("rows_latest.h5");
  const auto column = Find(file, "bytes/variable", true);
  REQUIRE_THAT(column, IsOk());
  const Hdf5Format format({*column}, &budget_);
  REQUIRE_THAT(Parse(file, format), IsOk());
  base::WorkingMemory memory(&budget_, "another test");
  const auto parser =
      format.Parse({"a.h5", {.size = file.size()}}, {}, &memory);
  REQUIRE_THAT(parser, IsOk());
}

struct Refusal {
  std::string path;
  std::string says;
};

TEST_CASE_METHOD(Hdf5ParserTest, "The HDF5 parser names what it cannot read",
                 "[hdf5][hdf5_parser]") {
  const std::string file = GoldenFile("refused.h5");
  const std::vector<Refusal> refusals = {
      {"scalar", "has a single value, which is in no row"},
      {"null", "has no shape"},
      {"references", "has rows of reference, which cannot be read"},
      {"complex", "has rows of c"},
      {"no_elements", "has rows without elements, float"},
      {"text_pairs", "has rows of several values, text of any length (2)"},
      {"nested/a", "has rows of compound, which cannot be read"},
      {"nested/b", "is not there: nested has no such member"},
      {"scaleoffset", "is written with the filter 6 (scaleoffset)"},
      {"virtual", "is a virtual dataset"},
      {"external", "has its data in another file"},
      {"nothing", "nothing: is not there: the file has complex, external, "},
      {"rows/x", "is not there: rows has no such member"},
      {"", "/: is a group, of complex, external, "},
  };
  for (const Refusal& refusal : refusals) {
    INFO(refusal.path);
    const auto column = Find(file, refusal.path, false);
    CHECK_THAT(column.status().ToString(), Contains(refusal.says));
  }
}

// Every truncated file gives an error that names the file, and none crashes the
// parser.
TEST_CASE_METHOD(Hdf5ParserTest,
                 "The HDF5 parser reports truncated files as errors",
                 "[hdf5][hdf5_parser]") {
  for (const char* const name : {"small_earliest.h5", "small_latest.h5"}) {
    const std::string whole = GoldenFile(name);
    for (const char* const path : {"y", "z", "jpg", "group/text", "both"}) {
      const auto column = Find(whole, path, true);
      REQUIRE_THAT(column, IsOk());
      const Hdf5Format format({*column}, nullptr);
      for (std::size_t size = 0; size < whole.size(); size += 61) {
        const auto found = Parse(whole.substr(0, size), format);
        REQUIRE_FALSE(found.ok());
        CHECK_THAT(found, HasCode(absl::StatusCode::kDataLoss));
        CHECK_THAT(found.status().ToString(), Contains("a.h5: "));
      }
    }
  }
}

// Whatever byte is changed, the parser ends, and everything that it finds lies
// in the file.
TEST_CASE_METHOD(Hdf5ParserTest, "Damaged files do the HDF5 parser no harm",
                 "[hdf5][hdf5_parser]") {
  for (const char* const name : {"small_earliest.h5", "small_latest.h5"}) {
    std::string file = GoldenFile(name);
    for (const char* const path : {"y", "jpg"}) {
      const auto column = Find(file, path, true);
      REQUIRE_THAT(column, IsOk());
      const Hdf5Format format({*column}, nullptr);
      for (std::size_t at = 0; at < file.size(); at += 7) {
        const char was = file[at];
        for (const char now : {'\0', '\x7f', '\xff'}) {
          file[at] = now;
          const auto found = Parse(file, format);
          for (std::size_t i = 0; found.ok() && i < found->ends.size(); ++i) {
            REQUIRE(found->begins[i] < found->ends[i]);
            REQUIRE(found->ends[i] <= file.size());
          }
        }
        file[at] = was;
      }
    }
  }
}

// A node of the B-tree becomes its own child.
TEST_CASE_METHOD(Hdf5ParserTest,
                 "A circle in an HDF5 index of chunks is an error",
                 "[hdf5][hdf5_parser]") {
  std::string file = GoldenFile("many_earliest.h5");
  const auto column = Find(file, "first", false);
  REQUIRE_THAT(column, IsOk());
  const Hdf5Format format({*column}, nullptr);
  int circles = 0;
  for (std::size_t at = file.find("TREE"); at != file.npos;
       at = file.find("TREE", at + 1)) {
    if (file[at + 4] != 1 || file[at + 5] == 0) continue;
    ++circles;
    std::string damaged = file;
    const std::size_t child = at + 24 + 8 + 8 * 3;
    for (std::size_t i = 0; i < 8; ++i)
      damaged[child + i] = static_cast<char>(at >> (8 * i));
    const auto found = Parse(damaged, format);
    if (!found.ok()) {
      CHECK_THAT(found.status().ToString(),
                 Contains("its index of chunks contradicts itself"));
    }
  }
  CHECK(circles > 0);
}

}  // namespace
}  // namespace forebay::dataset::hdf5
