#include "server/dataset/mds/mds_shard.h"

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/dataset/mds/mds_format.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::mds {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsOk;

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
                   std::vector<MdsColumn>* columns = nullptr) {
  base::WorkingMemory memory(base::AmpleBudget(), "samples");
  MdsShardParser parser({"a.mds", {.size = file.size()}}, sizes, nullptr,
                        &memory);
  while (const auto next = parser.next_read()) {
    CHECK(next->length > 0);
    CHECK(next->offset <= file.size());
    CHECK(next->length <= file.size() - next->offset);
    absl::Status taken =
        parser.Take(AsBytes(file).subspan(next->offset, next->length));
    if (!taken.ok()) return taken;
  }
  *found = parser.TakeRecords();
  if (columns != nullptr) *columns = parser.columns();
  return absl::OkStatus();
}

TEST_CASE("The MDS shard parser finds samples however much is read at a time",
          "[mds][mds_shard]") {
  const std::string file = Shard({"first", "second", "x"});
  const std::uint64_t begin = file.size() - 12;
  for (const ReadSizes& sizes : {ReadSizes{4, 4}, ReadSizes{4096, 1 << 18}}) {
    records::FileRecords found;
    std::vector<MdsColumn> columns;
    REQUIRE_THAT(Parse(file, sizes, &found, &columns), IsOk());
    CHECK(found.begin == begin);
    CHECK_THAT(found.ends, ElementsAre(begin + 5, begin + 11, begin + 12));
    REQUIRE(columns.size() == 2);
    CHECK(columns[1].name == "b");
  }
}

TEST_CASE("An MDS shard may have no samples", "[mds][mds_shard]") {
  records::FileRecords found;
  REQUIRE_THAT(Parse(Shard({}), {}, &found), IsOk());
  CHECK(found.ends.empty());
}

TEST_CASE("The MDS shard parser reports each truncation", "[mds][mds_shard]") {
  const std::string file = Shard({"first", "second"});
  for (std::size_t length = 1; length < file.size(); ++length) {
    records::FileRecords found;
    const absl::Status status = Parse(file.substr(0, length), {}, &found);
    UNSCOPED_INFO(length << " " << status);
    CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
    CHECK_THAT(status.message(), Contains("a.mds: is "));
  }
}

TEST_CASE("The MDS shard parser reads no mutated shard out of bounds",
          "[mds][mds_shard]") {
  const std::string file = Shard({"first", "second"});
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const int change : {1, 0x80, 0xff}) {
      std::string mutated = file;
      mutated[at] = static_cast<char>(mutated[at] ^ change);
      records::FileRecords found;
      if (!Parse(mutated, {}, &found).ok()) continue;
      std::uint64_t end = found.begin;
      for (const std::uint64_t next : found.ends) {
        CHECK(next > end);
        end = next;
      }
      CHECK(end == file.size());
    }
  }
}

TEST_CASE("An MDS format's text makes the format again", "[mds][mds_shard]") {
  auto columns = ParseColumns(kJson);
  REQUIRE_THAT(columns, IsOk());
  const MdsFormat format(
      *columns, {{.column = 1, .kind = proto::FieldKind::kLabel, .array = {}},
                 {.column = 0, .kind = proto::FieldKind::kText, .array = {}}});
  const auto again = MdsFormat::Parse(format.text());
  REQUIRE_THAT(again, IsOk());
  CHECK((*again)->text() == format.text());
  const std::string sample = Number(5) + "hello" + Number(7) + Number(0);
  std::vector<FieldValue> values(2);
  ValueBuffers buffers;
  REQUIRE_THAT(
      (*again)->ReadValues(AsBytes(sample), absl::MakeSpan(values), &buffers),
      IsOk());
  CHECK(std::get<std::int64_t>(values[0]) == 7);
  const auto text = std::get<FieldRange>(values[1]);
  CHECK(sample.substr(text.offset, text.length) == "hello");
}

TEST_CASE("The MDS format refuses field choices that do not fit their column",
          "[mds][mds_shard]") {
  const std::string columns =
      R"({"format": "mds", "version": 2, "column_names": ["a", "b"], )"
      R"("column_encodings": ["str", "ndarray:int8:2,3"], )"
      R"("column_sizes": [null, 6], "fields": [)";
  const std::string good =
      R"({"column": 1, "kind": 7, "dtype": 9, "shape": [2, 3], "rows": false})";
  CHECK_THAT(MdsFormat::Parse(absl::StrCat(columns, good, "]}")), IsOk());
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
    CAPTURE(field);
    CHECK_THAT(MdsFormat::Parse(text), HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE("The MDS format refuses other texts than its own",
          "[mds][mds_shard]") {
  for (const std::string& text :
       {std::string(), std::string(kJson), std::string("{\"fields\": []}"),
        std::string("tfrecord")}) {
    CAPTURE(text);
    CHECK_THAT(MdsFormat::Parse(text), HasCode(absl::StatusCode::kDataLoss));
  }
}

}  // namespace
}  // namespace forebay::dataset::mds
