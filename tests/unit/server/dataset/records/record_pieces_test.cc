#include "server/dataset/records/record_pieces.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/dataset/records/build_record_index.h"
#include "server/dataset/records/compressed_keys.h"
#include "server/storage/gathered/gathered_root.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::records {
namespace {

using tests::ElementsAre;
using tests::HasCode;
using tests::IsOk;

using storage::gathered::Piece;

// A format whose keys are pieces as text: "offset+length,offset+length".
class KeyedFormat final : public RecordFormat {
 public:
  const std::string& text() const override { return text_; }
  absl::StatusOr<std::unique_ptr<RecordParser>> Parse(
      const storage::ListedObject&, const ReadSizes&,
      base::WorkingMemory*) const override {
    return absl::UnimplementedError("parses nothing");
  }
  std::vector<Field> FieldsOf(const RecordIndex&) const override { return {}; }
  absl::StatusOr<std::vector<Piece>> PiecesOf(
      std::string_view key) const override {
    std::vector<Piece> pieces;
    for (const auto word : absl::StrSplit(std::string(key), ',')) {
      const std::vector<std::string> parts =
          absl::StrSplit(word, absl::MaxSplits('+', 1));
      Piece piece;
      if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &piece.offset) ||
          !absl::SimpleAtoi(parts[1], &piece.length))
        return absl::DataLossError("is not a key");
      pieces.push_back(piece);
    }
    return pieces;
  }

 private:
  const std::string text_ = "keyed";
};

struct Row {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string key;
};

FileRecords RecordsOf(const std::vector<Row>& rows,
                      base::WorkingMemory& memory) {
  FileRecords records;
  KeyCompressor keys;
  for (const Row& row : rows) {
    records.begins.push_back(row.begin);
    records.ends.push_back(row.end);
    CHECK_THAT(keys.Add(row.key, memory), IsOk());
  }
  records.keys = keys.Take();
  return records;
}

// The first file has a row of its own bytes, a gathered row, and a gathered row
// that two records share. The second file has no gathered rows.
const std::vector<Row> kGathered = {{40, 50, "x"},
                                    {100, 115, "90+10,3+5"},
                                    {115, 118, "0+1,9+2"},
                                    {115, 118, "0+1,9+2"}};

absl::StatusOr<std::shared_ptr<const RecordIndex>> Build(
    const std::vector<Row>& rows) {
  base::WorkingMemory memory(base::AmpleBudget(), "an index");
  std::vector<FileRecords> records;
  records.push_back(RecordsOf(rows, memory));
  records.push_back(RecordsOf({{0, 7, "y"}}, memory));
  const std::vector<storage::ListedObject> files = {{"a", {100, 7}},
                                                    {"b", {50, 8}}};
  return BuildRecordIndex("keyed", files, std::move(records), memory);
}

TEST_CASE("Record pieces are found for any range of gathered records",
          "[records][record_pieces]") {
  const auto index = Build(kGathered);
  REQUIRE_THAT(index, IsOk());
  CHECK((*index)->gathers());
  CHECK((*index)->GatheredSize(0) == 118u);
  CHECK((*index)->GatheredSize(1) == 50u);
  const RecordPieces pieces(*index, std::make_shared<const KeyedFormat>());
  CHECK(pieces.OwnSize("a", 118) == 100u);
  CHECK(pieces.OwnSize("a", 117) == 117u);  // the size in another index
  CHECK(pieces.OwnSize("b", 50) == 50u);
  CHECK(pieces.OwnSize("c", 118) == 118u);
  CHECK_THAT(*pieces.Find("a", 100, 15),
             ElementsAre(Piece{90, 10}, Piece{3, 5}));
  CHECK_THAT(*pieces.Find("a", 104, 7), ElementsAre(Piece{94, 6}, Piece{3, 1}));
  CHECK_THAT(*pieces.Find("a", 113, 4),
             ElementsAre(Piece{6, 2}, Piece{0, 1}, Piece{9, 1}));
  CHECK_THAT(*pieces.Find("a", 117, 1), ElementsAre(Piece{10, 1}));
  CHECK_THAT(pieces.Find("a", 117, 2), HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(pieces.Find("c", 117, 1), HasCode(absl::StatusCode::kDataLoss));
}

TEST_CASE(
    "Record pieces are refused if a key does not describe pieces of the file",
    "[records][record_pieces]") {
  for (const char* const key :
       {"90+10,3+4", "90+10,3+6", "90+11,3+4", "96+10,3+5", "0+0,0+15", "x",
        "18446744073709551615+15", "1+18446744073709551615,0+16"}) {
    const auto index = Build({{100, 115, key}});
    REQUIRE_THAT(index, IsOk());
    const RecordPieces pieces(*index, std::make_shared<const KeyedFormat>());
    CAPTURE(key);
    CHECK_THAT(pieces.Find("a", 100, 15), HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE(
    "A record index demands that extents behind the file follow one another",
    "[records][record_pieces]") {
  const std::vector<std::vector<Row>> wrong = {
      {{101, 115, ""}},                  // does not begin at the file's end
      {{99, 115, ""}},                   // begins in the file's own bytes
      {{100, 115, ""}, {116, 120, ""}},  // leaves a gap
      {{100, 115, ""}, {114, 120, ""}},  // overlaps the row before
      {{100, 115, ""}, {100, 116, ""}},  // begins where the row before begins
      {{100, 115, ""}, {40, 50, ""}},    // own bytes follow a gathered row
      {{100, 115, ""}, {115, 120, ""}, {100, 115, ""}},
      {{100, 100, ""}},
  };
  for (const std::vector<Row>& rows : wrong) {
    CAPTURE(rows.back().begin);
    CHECK_THAT(Build(rows), HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE("The roots of record pieces differ by what is gathered",
          "[records][record_pieces]") {
  storage::MemorySource source;
  const auto format = std::make_shared<const KeyedFormat>();
  const auto index = *Build(kGathered);
  const auto root = WithPieces(source.root(), index, format);
  CHECK(root != source.root());
  CHECK(WithPieces(source.root(), *Build({{0, 9, ""}}), format) ==
        source.root());
  const auto other = *Build({{100, 115, "90+10,3+5"}});
  const auto identity = root->identity();
  if (identity == nullptr) return;
  CHECK(*identity != *WithPieces(source.root(), other, format)->identity());
  CHECK(*identity == *WithPieces(source.root(), index, format)->identity());
}

}  // namespace
}  // namespace forebay::dataset::records
