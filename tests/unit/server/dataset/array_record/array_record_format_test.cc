#include "server/dataset/array_record/array_record_format.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/dataset/records/build_record_index.h"
#include "server/dataset/tfrecord/example_choice.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/array_record/array_record_writer.h"
#include "tests/unit/server/dataset/array_record/golden_files.h"

namespace forebay::dataset::array_record {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

using records::RecordIndex;
using tfrecord::RecordFields;

// Files with an index like the one that a catalog builds.
class Indexed {
 public:
  Indexed(RecordFields fields, std::vector<std::string> files)
      : format_(std::move(fields), base::AmpleBudget()),
        files_(std::move(files)) {
    base::WorkingMemory memory(base::AmpleBudget(), "a test");
    std::vector<storage::ListedObject> listed;
    std::vector<records::FileRecords> found;
    for (const std::string& file : files_) {
      listed.push_back({"file", {.size = file.size()}});
      auto parser = format_.Parse(listed.back(), {}, &memory);
      CHECK_THAT(parser, IsOk());
      while (const auto next = (*parser)->next_read()) {
        const absl::Status taken =
            (*parser)->Take(AsBytes(file).subspan(next->offset, next->length));
        CHECK_THAT(taken, IsOk());
        if (!taken.ok()) break;
      }
      found.push_back((*parser)->TakeRecords());
    }
    auto index = records::BuildRecordIndex(format_.text(), listed,
                                           std::move(found), memory);
    CHECK_THAT(index, IsOk());
    index_ = *std::move(index);
  }

  const RecordIndex& index() const { return *index_; }
  std::vector<Field> fields() const { return format_.FieldsOf(*index_); }
  std::string& file(std::size_t number) { return files_[number]; }

  // Returns the values of a record as text. `buffers` owns the values that are
  // not ranges of the file.
  absl::StatusOr<std::vector<std::string>> Read(std::uint64_t record,
                                                ValueBuffers* buffers) const {
    const RecordIndex::Extent extent = index_->ExtentOf(record);
    const auto bytes =
        AsBytes(files_[extent.file]).subspan(extent.offset, extent.length);
    std::vector<FieldValue> values(fields().size());
    const absl::Status read = format_.ReadValuesOf(
        *index_, record, bytes, absl::MakeSpan(values), buffers);
    if (!read.ok()) return read;
    std::vector<std::string> texts;
    for (const FieldValue& value : values) {
      if (const auto* const range = std::get_if<FieldRange>(&value)) {
        texts.emplace_back(AsText(bytes.subspan(range->offset, range->length)));
      } else if (const auto* const here = std::get_if<ComputedBytes>(&value)) {
        texts.emplace_back(AsText(here->bytes));
      } else {
        texts.push_back(std::to_string(std::get<std::int64_t>(value)));
      }
    }
    return texts;
  }

  std::string ErrorOf(std::uint64_t record) const {
    ValueBuffers buffers;
    const auto values = Read(record, &buffers);
    CHECK_FALSE(values.ok());
    return std::string(values.status().message());
  }

 private:
  const ArrayRecordFormat format_;
  std::vector<std::string> files_;
  std::shared_ptr<const RecordIndex> index_;
};

RecordFields Whole(std::string_view type) {
  return *RecordFields::OfPayload(type);
}

RecordFields Features(const std::vector<std::string>& names,
                      const std::vector<std::string>& types) {
  return *RecordFields::OfExamples(names, types);
}

TEST_CASE("The ArrayRecord format reads what ArrayRecord's own reader reads",
          "[array_record][array_record_format]") {
  const std::vector<GoldenFile> goldens = GoldenFiles();
  std::vector<std::string> files;
  std::vector<GoldenRecord> expected;
  for (const GoldenFile& golden : goldens) {
    files.push_back(GoldenBytes(golden.name));
    expected.insert(expected.end(), golden.records.begin(),
                    golden.records.end());
  }
  const Indexed indexed(Whole("bytes"), std::move(files));
  REQUIRE(indexed.index().size() == expected.size());
  for (std::uint64_t i = 0; i < expected.size(); ++i) {
    ValueBuffers buffers;
    const auto values = indexed.Read(i, &buffers);
    UNSCOPED_INFO(i << ": " << values.status());
    REQUIRE_THAT(values, IsOk());
    CAPTURE(i);
    CHECK(RecordOf(AsBytes(values->front())) == expected[i]);
    CHECK(values->front().size() <= indexed.fields()[0].longest);
  }
}

TEST_CASE("The ArrayRecord format finds features by name",
          "[array_record][array_record_format]") {
  for (const char* const name : {"examples", "examples_8"}) {
    const Indexed indexed(
        Features({"label", "name", "scores"}, {"int64", "text", "float32[n]"}),
        {GoldenBytes(name)});
    REQUIRE(indexed.index().size() == 20);
    for (std::uint64_t i = 0; i < 20; ++i) {
      ValueBuffers buffers;
      const auto values = indexed.Read(i, &buffers);
      REQUIRE_THAT(values, IsOk());
      CHECK((*values)[0] == std::to_string(i));
      CHECK((*values)[1] == "sample " + std::to_string(i));
      CHECK((*values)[2].size() == i % 4 * 4);
    }
    CHECK(indexed.fields()[0].longest == 8);
    CHECK(indexed.fields()[2].longest == 12);
  }
}

TEST_CASE("The ArrayRecord format tells of damaged chunks",
          "[array_record][array_record_format]") {
  Indexed indexed(Whole("bytes"),
                  {FileOf({ChunkOf({"abc", "d"}), ChunkOf({"ef"})})});
  indexed.file(0)[110] ^= 1;
  CHECK_THAT(indexed.ErrorOf(0), Contains("hash of a chunk's data"));
  CHECK_THAT(indexed.ErrorOf(1), Contains("hash of a chunk's data"));
  ValueBuffers buffers;
  CHECK_THAT(indexed.Read(2, &buffers), IsOk());
}

TEST_CASE(
    "The ArrayRecord format tells of a chunk list that contradicts the chunks",
    "[array_record][array_record_format]") {
  FileWriter more_records;
  more_records.List({more_records.Add(ChunkOf({"abc"})), 3, 2});
  const Indexed few(Whole("image"), {more_records.End()});
  ValueBuffers buffers;
  CHECK_THAT(few.Read(0, &buffers), IsOk());
  CHECK_THAT(few.ErrorOf(1), Contains("has only 1 records"));
  FileWriter fewer_bytes;
  fewer_bytes.List({fewer_bytes.Add(ChunkOf({"abc"})), 2, 1});
  const Indexed long_one(Whole("image"), {FileWriter(fewer_bytes).End()});
  CHECK_THAT(long_one.ErrorOf(0), Contains("3 bytes of records"));
  fewer_bytes.AddListed(ChunkOf({"defg"}));
  const Indexed long_too(Whole("image"), {fewer_bytes.End()});
  CHECK_THAT(long_too.ErrorOf(0),
             Contains("has 3 bytes, but when it was indexed 2"));
}

TEST_CASE("The ArrayRecord format refuses an index whose chunks descend",
          "[array_record][array_record_format]") {
  const ArrayRecordFormat format(Whole("image"), base::AmpleBudget());
  base::WorkingMemory memory(base::AmpleBudget(), "a test");
  records::FileRecords descending;
  descending.begins = {20, 10};
  descending.ends = {30, 20};
  std::vector<records::FileRecords> found;
  found.push_back(std::move(descending));
  const auto index = records::BuildRecordIndex(
      format.text(), {{"file", {.size = 30}}}, std::move(found), memory);
  REQUIRE_THAT(index, IsOk());
  const std::string chunk(10, 'x');
  std::vector<FieldValue> values(1);
  ValueBuffers buffers;
  const absl::Status status = format.ReadValuesOf(
      **index, 1, AsBytes(chunk), absl::MakeSpan(values), &buffers);
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(status.message(), Contains("saved index"));
}

TEST_CASE("An ArrayRecord format's text makes the same format again",
          "[array_record][array_record_format]") {
  const ArrayRecordFormat whole(Whole("image"), nullptr);
  const ArrayRecordFormat features(Features({"a", "b"}, {"int64[n]", "image"}),
                                   nullptr);
  CHECK(whole.text() != features.text());
  for (const ArrayRecordFormat* const format : {&whole, &features}) {
    const auto again = ArrayRecordFormat::Parse(format->text(), nullptr);
    REQUIRE_THAT(again, IsOk());
    CHECK((*again)->text() == format->text());
    CHECK_THAT(
        ArrayRecordFormat::Parse(format->text().substr(1), nullptr).status(),
        HasCode(absl::StatusCode::kDataLoss));
  }
  CHECK_FALSE(ArrayRecordFormat::Parse("array_record nothing", nullptr).ok());
  CHECK_FALSE(ArrayRecordFormat::Parse("", nullptr).ok());
}

TEST_CASE("The choice of ArrayRecord fields refuses what is not a field",
          "[array_record][array_record_format]") {
  using Texts = std::vector<std::string>;
  CHECK_THAT(tfrecord::ExampleChoice::Create({}, {}), IsOk());
  CHECK_THAT(tfrecord::ExampleChoice::Create({""}, {"image"}), IsOk());
  CHECK_THAT(tfrecord::ExampleChoice::Create({"a"}, {"text"}), IsOk());
  for (const auto& [names, types] :
       std::vector<std::pair<Texts, Texts>>{{{""}, {"nothing"}},
                                            {{"a"}, {"nothing"}},
                                            {{"a"}, {}},
                                            {{"a", "a"}, {"text", "text"}}}) {
    CHECK_THAT(tfrecord::ExampleChoice::Create(names, types),
               HasCode(absl::StatusCode::kInvalidArgument));
  }
}

}  // namespace
}  // namespace forebay::dataset::array_record
