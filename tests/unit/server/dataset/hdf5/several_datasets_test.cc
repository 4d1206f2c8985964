// Tests of gathered rows: rows of several datasets, and rows with parts in
// chunks all over the file.

#include <zlib.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/base/memory_budget.h"
#include "server/dataset/hdf5/hdf5_format.h"
#include "server/dataset/hdf5/path_pattern.h"
#include "server/dataset/records/compressed_keys.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/hdf5/golden_hdf5.h"
#include "tests/unit/server/dataset/hdf5/read_rows.h"

namespace forebay::dataset::hdf5 {
namespace {

using tests::IsOk;
using tests::SizeIs;

constexpr std::size_t kMostColumns = 15;

class SeveralDatasetsTest {
 protected:
  // Returns groups of columns that can be read together. The columns of a group
  // have the same number of rows, and are objects of one HDF5 group or of none.
  static std::vector<std::vector<GoldenColumn>> Together(
      const GoldenHdf5& golden) {
    std::map<std::pair<std::uint64_t, std::string>, std::vector<GoldenColumn>>
        found;
    for (const GoldenColumn& column : golden.columns) {
      if (column.path == "compact") continue;
      const auto pattern = SplitPattern(column.path);
      auto& some = found[{column.rows,
                          pattern.has_value() ? pattern->group + "/*" : ""}];
      if (some.size() < kMostColumns) some.push_back(column);
    }
    std::vector<std::vector<GoldenColumn>> together;
    for (auto& [key, some] : found) {
      if (some.size() > 1) together.push_back(std::move(some));
    }
    return together;
  }

  absl::StatusOr<std::vector<Hdf5Column>> ColumnsOf(
      const std::string& file, const std::vector<GoldenColumn>& golden) {
    std::vector<Hdf5Column> columns;
    for (const GoldenColumn& one : golden) {
      auto column = FindColumn(file, one.path, false, &memory_);
      if (!column.ok()) return column.status();
      columns.push_back(*std::move(column));
    }
    return columns;
  }

  absl::StatusOr<records::FileRecords> Find(const std::string& file,
                                            const Hdf5Format& format) {
    int reads = 0;
    return FindRows(file, format, {}, &memory_, &reads);
  }

  base::MemoryBudget budget_{1 << 26};
  base::WorkingMemory memory_{&budget_, "a test"};
};

TEST_CASE_METHOD(SeveralDatasetsTest,
                 "Several HDF5 datasets read together are each what h5py reads",
                 "[hdf5][several_datasets]") {
  std::size_t gathered = 0;
  for (const GoldenHdf5& golden : GoldenHdf5s()) {
    const std::string file = GoldenFile(golden.file);
    for (const std::vector<GoldenColumn>& together : Together(golden)) {
      INFO(golden.file + " " + together.front().path);
      auto columns = ColumnsOf(file, together);
      REQUIRE_THAT(columns, IsOk());
      // The index stores some of the columns, as if they were small.
      for (Hdf5Column& column : *columns)
        column.is_kept = column.path.size() % 3 == 0;
      const Hdf5Format written(*columns, &budget_);
      const auto format = Hdf5Format::Parse(written.text(), &budget_);
      REQUIRE_THAT(format, IsOk());
      const auto found = Find(file, **format);
      REQUIRE_THAT(found, IsOk());
      const auto values = ReadRows(file, **format, *found, together.size());
      REQUIRE_THAT(values, IsOk());
      for (std::size_t i = 0; i < together.size(); ++i) {
        INFO(together[i].path);
        const std::string& value = (*values)[i];
        CHECK(value.size() == together[i].bytes);
        CHECK(crc32(0, AsBytes(value).data(),
                    static_cast<uInt>(value.size())) == together[i].crc);
      }
      gathered +=
          found->begins.empty() || found->begins[0] < file.size() ? 0 : 1;
    }
  }
  CHECK(gathered > 6u);
}

// The rows lie past the file's own bytes. A row begins where the previous one
// ends, or has the same extent.
TEST_CASE_METHOD(SeveralDatasetsTest,
                 "HDF5 rows of the same chunks share an extent",
                 "[hdf5][several_datasets]") {
  const std::string file = GoldenFile("chunks_latest.h5");
  std::vector<Hdf5Column> columns;
  for (const char* const path : {"first/gzip", "first/lzf_parts"}) {
    auto column = FindColumn(file, path, false, &memory_);
    REQUIRE_THAT(column, IsOk());
    columns.push_back(*std::move(column));
  }
  const Hdf5Format format(columns, nullptr);
  const auto found = Find(file, format);
  REQUIRE_THAT(found, IsOk());
  REQUIRE_THAT(found->begins, SizeIs(20));
  std::uint64_t end = file.size();
  int extents = 0;
  for (std::size_t i = 0; i < found->begins.size(); ++i) {
    if (i > 0 && found->begins[i] == found->begins[i - 1]) {
      CHECK(found->ends[i] == found->ends[i - 1]);
      continue;
    }
    CHECK(found->begins[i] == end);
    end = found->ends[i];
    ++extents;
  }
  CHECK(extents == 5);  // the extents begin with rows 0, 7, 8, 14, 16
}

// A row with scattered chunks also lies past the file's own bytes.
TEST_CASE_METHOD(SeveralDatasetsTest,
                 "The chunks of an HDF5 row may lie far apart",
                 "[hdf5][several_datasets]") {
  const std::string file = GoldenFile("apart_latest.h5");
  for (const char* const path : {"packed", "plain"}) {
    const auto column = FindColumn(file, path, false, &memory_);
    REQUIRE_THAT(column, IsOk());
    const Hdf5Format format({*column}, nullptr);
    const auto found = Find(file, format);
    REQUIRE_THAT(found, IsOk());
    CHECK(found->begins[0] >= file.size());
    // All rows together have fewer bytes than this.
    CHECK(found->ends.back() - file.size() < 60'000u);
  }
}

// An altered key gives the row of some file, or an error.
TEST_CASE_METHOD(SeveralDatasetsTest,
                 "Altered HDF5 row keys do no harm when rows are read",
                 "[hdf5][several_datasets]") {
  const std::string file = GoldenFile("chunks_latest.h5");
  std::vector<Hdf5Column> columns;
  for (const char* const path :
       {"first/all", "first/all_parts", "fill/zeros"}) {
    auto column = FindColumn(file, path, false, &memory_);
    REQUIRE_THAT(column, IsOk());
    columns.push_back(*std::move(column));
  }
  const Hdf5Format format(columns, &budget_);
  const auto found = Find(file, format);
  REQUIRE_THAT(found, IsOk());
  records::KeyReader keys(found->keys.bytes);
  REQUIRE(keys.Next());
  std::mt19937 random(1);
  std::vector<FieldValue> values(columns.size());
  for (int i = 0; i < 20'000; ++i) {
    std::string key = keys.key();
    for (int k = 0; k < 1 + i % 3; ++k)
      key[random() % key.size()] = static_cast<char>(random());
    const auto pieces = format.PiecesOf(key);
    const std::string record(random() % 500, 'x');
    std::vector<std::uint8_t> scratch;
    const auto ask =
        [&](std::uint64_t bytes) -> absl::StatusOr<absl::Span<std::uint8_t>> {
      if (bytes > 1 << 20) return absl::ResourceExhaustedError("too many");
      scratch.resize(bytes);
      return absl::MakeSpan(scratch);
    };
    const DecompressionRoom room = ask;
    ValueBuffers buffers(&room);
    const absl::Status status = format.ReadKeyedValues(
        key, AsBytes(record), absl::MakeSpan(values), &buffers);
    CHECK((pieces.ok() || !status.ok()));
  }
}

// All datasets are decompressed into the same memory, which is requested once.
TEST_CASE_METHOD(
    SeveralDatasetsTest,
    "Several HDF5 datasets decompress one after the other in the same room",
    "[hdf5][several_datasets]") {
  const std::string file = GoldenFile("chunks_latest.h5");
  std::vector<Hdf5Column> columns;
  for (const char* const path :
       {"first/all", "first/gzip", "first/all_parts"}) {
    auto column = FindColumn(file, path, false, &memory_);
    REQUIRE_THAT(column, IsOk());
    columns.push_back(*std::move(column));
  }
  const Hdf5Format format(columns, nullptr);
  const auto found = Find(file, format);
  REQUIRE_THAT(found, IsOk());
  records::KeyReader keys(found->keys.bytes);
  REQUIRE(keys.Next());
  std::string record;
  const auto pieces = format.PiecesOf(keys.key());
  REQUIRE_THAT(pieces, IsOk());
  for (const auto& piece : *pieces)
    record += file.substr(piece.offset, piece.length);
  std::vector<std::uint8_t> scratch;
  const auto ask = [&](std::uint64_t bytes) {
    UNSCOPED_INFO("asked twice");
    CHECK(scratch.empty());
    scratch.resize(bytes);
    return absl::MakeSpan(scratch);
  };
  const DecompressionRoom room = ask;
  ValueBuffers buffers(&room);
  std::vector<FieldValue> values(3);
  REQUIRE_THAT(format.ReadKeyedValues(keys.key(), AsBytes(record),
                                      absl::MakeSpan(values), &buffers),
               IsOk());
  CHECK(buffers.bytes() == 3 * columns[0].row_bytes);
  // The memory is no larger than the dataset with the largest need.
  CHECK(scratch.size() < 4000u);
}

}  // namespace
}  // namespace forebay::dataset::hdf5
