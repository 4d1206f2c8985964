#include "server/dataset/mds/mds_shard.h"

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dataset/mds/mds_format.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::mds {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kJson[] =
    R"({"format": "mds", "version": 2, "column_names": ["a", "b"], )"
    R"("column_encodings": ["str", "int"], "column_sizes": [null, 8]})";

absl::Span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string Number(std::uint32_t number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

std::string Shard(const std::vector<std::string>& samples,
                  const std::string& json = kJson) {
  std::uint32_t at =
      static_cast<std::uint32_t>(4 * (samples.size() + 2) + json.size());
  std::string table = Number(static_cast<std::uint32_t>(samples.size()));
  std::string content;
  table += Number(at);
  for (const std::string& sample : samples) {
    at += static_cast<std::uint32_t>(sample.size());
    table += Number(at);
    content += sample;
  }
  return table + json + content;
}

absl::Status Parse(const std::string& file, const ReadSizes& sizes,
                   records::FileRecords* found,
                   std::vector<Column>* columns = nullptr) {
  base::WorkingMemory memory(base::AmpleBudget(), "samples");
  MdsShardParser parser({"a.mds", {.size = file.size()}}, sizes, nullptr,
                        &memory);
  while (const auto next = parser.next_read()) {
    EXPECT_GT(next->length, 0);
    EXPECT_LE(next->offset, file.size());
    EXPECT_LE(next->length, file.size() - next->offset);
    absl::Status taken =
        parser.Take(AsBytes(file).subspan(next->offset, next->length));
    if (!taken.ok()) return taken;
  }
  *found = parser.TakeRecords();
  if (columns != nullptr) *columns = parser.columns();
  return absl::OkStatus();
}

TEST(MdsShardTest, FindsSamplesWhateverIsReadAtATime) {
  const std::string file = Shard({"first", "second", "x"});
  const std::uint64_t begin = file.size() - 12;
  for (const ReadSizes& sizes : {ReadSizes{4, 4}, ReadSizes{4096, 1 << 18}}) {
    records::FileRecords found;
    std::vector<Column> columns;
    ASSERT_TRUE(Parse(file, sizes, &found, &columns).ok());
    EXPECT_EQ(found.begin, begin);
    EXPECT_THAT(found.ends, ElementsAre(begin + 5, begin + 11, begin + 12));
    ASSERT_EQ(columns.size(), 2);
    EXPECT_EQ(columns[1].name, "b");
  }
}

TEST(MdsShardTest, AShardMayHaveNoSamples) {
  records::FileRecords found;
  ASSERT_TRUE(Parse(Shard({}), {}, &found).ok());
  EXPECT_TRUE(found.ends.empty());
}

TEST(MdsShardTest, EachTruncationIsTold) {
  const std::string file = Shard({"first", "second"});
  for (std::size_t length = 1; length < file.size(); ++length) {
    records::FileRecords found;
    const absl::Status status = Parse(file.substr(0, length), {}, &found);
    EXPECT_TRUE(absl::IsDataLoss(status)) << length << " " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("a.mds: is "));
  }
}

TEST(MdsShardTest, NoMutationIsReadOutOfBounds) {
  const std::string file = Shard({"first", "second"});
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const int change : {1, 0x80, 0xff}) {
      std::string mutated = file;
      mutated[at] = static_cast<char>(mutated[at] ^ change);
      records::FileRecords found;
      if (!Parse(mutated, {}, &found).ok()) continue;
      std::uint64_t end = found.begin;
      for (const std::uint64_t next : found.ends) {
        EXPECT_GT(next, end);
        end = next;
      }
      EXPECT_EQ(end, file.size());
    }
  }
}

TEST(MdsFormatTest, ItsTextMakesItAgain) {
  auto columns = ParseColumns(kJson);
  ASSERT_TRUE(columns.ok());
  const MdsFormat format(
      *columns, {{.column = 1, .kind = proto::FieldKind::kLabel, .array = {}},
                 {.column = 0, .kind = proto::FieldKind::kText, .array = {}}});
  const auto again = MdsFormat::Parse(format.text());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->text(), format.text());
  const std::string sample = Number(5) + "hello" + Number(7) + Number(0);
  std::vector<FieldValue> values(2);
  MadeValues made;
  ASSERT_TRUE((*again)
                  ->ReadValues(AsBytes(sample), absl::MakeSpan(values), &made)
                  .ok());
  EXPECT_EQ(std::get<std::int64_t>(values[0]), 7);
  const auto text = std::get<FieldRange>(values[1]);
  EXPECT_EQ(sample.substr(text.offset, text.length), "hello");
}

TEST(MdsFormatTest, ChoicesThatDoNotFitTheirColumnAreRefused) {
  const std::string columns =
      R"({"format": "mds", "version": 2, "column_names": ["a", "b"], )"
      R"("column_encodings": ["str", "ndarray:int8:2,3"], )"
      R"("column_sizes": [null, 6], "fields": [)";
  const std::string good =
      R"({"column": 1, "kind": 7, "dtype": 9, "shape": [2, 3], "rows": false})";
  EXPECT_TRUE(MdsFormat::Parse(absl::StrCat(columns, good, "]}")).ok());
  for (const std::string& field :
       {std::string(R"({"column": 2, "kind": 4, "dtype": 1, "shape": [],)"
                    R"( "rows": false})"),
        std::string(R"({"column": 0, "kind": 7, "dtype": 1, "shape": [],)"
                    R"( "rows": false})"),
        std::string(R"({"column": 0, "kind": 1, "dtype": 1, "shape": [],)"
                    R"( "rows": false})"),
        std::string(R"({"column": 1, "kind": 7, "dtype": 9, "shape": [0],)"
                    R"( "rows": true})"),
        std::string(R"({"column": 1, "kind": 7, "dtype": 9, "rows": true,)"
                    R"( "shape": [4294967296, 4294967296]})"),
        std::string(R"({"column": 1, "kind": 7, "dtype": 4, "shape": [2, 3],)"
                    R"( "rows": false})"),
        absl::StrCat(good, ", ", good)}) {
    const std::string text = absl::StrCat(columns, field, "]}");
    EXPECT_TRUE(absl::IsDataLoss(MdsFormat::Parse(text).status())) << field;
  }
}

TEST(MdsFormatTest, OtherTextsAreRefused) {
  for (const std::string& text :
       {std::string(), std::string(kJson), std::string("{\"fields\": []}"),
        std::string("tfrecord")}) {
    EXPECT_TRUE(absl::IsDataLoss(MdsFormat::Parse(text).status())) << text;
  }
}

}  // namespace
}  // namespace forebay::dataset::mds
