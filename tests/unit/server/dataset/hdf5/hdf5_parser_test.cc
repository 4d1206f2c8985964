#include "server/dataset/hdf5/hdf5_parser.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/memory_budget.h"
#include "server/base/status.h"
#include "server/dataset/hdf5/hdf5_format.h"
#include "server/dataset/hdf5/tree.h"
#include "server/dataset/records/packed_keys.h"
#include "tests/unit/server/dataset/hdf5/golden_hdf5.h"

namespace forebay::dataset::hdf5 {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class Hdf5ParserTest : public ::testing::Test {
 protected:
  absl::StatusOr<Column> Find(const std::string& file, const std::string& path,
                              bool is_kept) {
    FileView view(file.size(), {}, &memory_);
    absl::StatusOr<FoundArray> found;
    FOREBAY_RETURN_IF_ERROR(LookInto(file, view, [&](FileView& looked) {
      found = FindArray(looked, path);
      return found.status();
    }));
    auto column = ColumnOf(found->array, found->path, found->member);
    if (column.ok()) column->is_kept = is_kept;
    return column;
  }

  absl::StatusOr<records::FileRecords> Parse(const std::string& file,
                                             const Hdf5Format& format,
                                             const ReadSizes& sizes = {}) {
    FOREBAY_ASSIGN_OR_RETURN(
        auto parser,
        format.Parse({"a.h5", {.size = file.size()}}, sizes, &memory_));
    while (const auto read = parser->next_read()) {
      EXPECT_GT(read->length, 0u);
      EXPECT_LE(read->offset + read->length, file.size());
      ++reads_;
      FOREBAY_RETURN_IF_ERROR(parser->Take(
          AsBytes(std::string_view(file).substr(read->offset, read->length))));
    }
    return parser->TakeRecords();
  }

  // The values of all rows, one behind the other.
  static std::string ValuesOf(const std::string& file, const Hdf5Format& format,
                              const records::FileRecords& found) {
    std::string all;
    records::KeyReader keys(found.keys.bytes);
    for (std::size_t i = 0; i < found.ends.size(); ++i) {
      const auto record = AsBytes(file).subspan(
          found.begins[i], found.ends[i] - found.begins[i]);
      EXPECT_TRUE(keys.Next());
      MadeValues made;
      FieldValue value;
      const absl::Status status = format.ReadKeyedValues(
          keys.key(), record, absl::MakeSpan(&value, 1), &made);
      EXPECT_TRUE(status.ok()) << status;
      if (const auto* range = std::get_if<FieldRange>(&value)) {
        const auto bytes = record.subspan(range->offset, range->length);
        all.append(bytes.begin(), bytes.end());
      } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
        all.append(reinterpret_cast<const char*>(number), sizeof(*number));
      } else if (const auto* bytes = std::get_if<MadeBytes>(&value)) {
        all.append(bytes->bytes.begin(), bytes->bytes.end());
      }
    }
    return all;
  }

  base::MemoryBudget budget_{1 << 26};
  base::WorkingMemory memory_{&budget_, "a test"};
  int reads_ = 0;
};

bool IsCompact(const std::string& path) { return path == "compact"; }

// Chunks of it have parts of rows.
bool HasParts(const GoldenHdf5& golden, const std::string& path) {
  return path.ends_with("_parts") || path == "cubes" ||
         (path == "both" && golden.file.starts_with("many"));
}

TEST_F(Hdf5ParserTest, ReadsWhatH5pyReads) {
  for (const GoldenHdf5& golden : GoldenHdf5s()) {
    const std::string file = GoldenFile(golden.file);
    for (const GoldenColumn& expected : golden.columns) {
      for (const bool is_kept : {true, false}) {
        SCOPED_TRACE(golden.file + " " + expected.path +
                     (is_kept ? " kept" : " read"));
        if (!is_kept &&
            (IsCompact(expected.path) || HasParts(golden, expected.path)))
          continue;
        const auto column = Find(file, expected.path, is_kept);
        ASSERT_TRUE(column.ok()) << column.status();
        const Hdf5Format format({*column}, &budget_);
        const auto again = Hdf5Format::Parse(format.text(), &budget_);
        ASSERT_TRUE(again.ok()) << again.status();
        EXPECT_EQ((*again)->text(), format.text());
        const auto found = Parse(file, **again);
        ASSERT_TRUE(found.ok()) << found.status();
        ASSERT_THAT(found->ends, SizeIs(expected.rows));
        const std::string values = ValuesOf(file, **again, *found);
        EXPECT_EQ(values.size(), expected.bytes);
        EXPECT_EQ(
            crc32(0, AsBytes(values).data(), static_cast<uInt>(values.size())),
            expected.crc);
      }
    }
  }
}

}  // namespace
}  // namespace forebay::dataset::hdf5
