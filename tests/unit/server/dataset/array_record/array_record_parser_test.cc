#include "server/dataset/array_record/array_record_parser.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/memory_budget.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/array_record/golden_files.h"
#include "tests/unit/server/dataset/array_record/made_file.h"

namespace forebay::dataset::array_record {
namespace {

using records::LengthBounds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tfrecord::RecordFields;

RecordFields Whole(std::string_view type) {
  auto fields = RecordFields::OfPayload(type);
  EXPECT_TRUE(fields.ok()) << fields.status();
  return *std::move(fields);
}

RecordFields Features(const std::vector<std::string>& names,
                      const std::vector<std::string>& types) {
  auto fields = RecordFields::OfExamples(names, types);
  EXPECT_TRUE(fields.ok()) << fields.status();
  return *std::move(fields);
}

// The records that were found, and the bytes that were read.
struct Parsed {
  records::FileRecords found;
  std::uint64_t read = 0;
};

absl::StatusOr<Parsed> Parse(const std::string& file,
                             const RecordFields& fields,
                             const ReadSizes& sizes = {},
                             base::MemoryBudget* budget = nullptr) {
  base::WorkingMemory memory(budget == nullptr ? base::AmpleBudget() : budget,
                             "records");
  auto parser = ArrayRecordParser::Create("a.array_record", file.size(), sizes,
                                          &fields, &memory);
  if (!parser.ok()) return parser.status();
  Parsed parsed;
  while (const auto next = (*parser)->next_read()) {
    EXPECT_GT(next->length, 0);
    EXPECT_LE(next->offset + next->length, file.size());
    parsed.read += next->length;
    const absl::Status taken =
        (*parser)->Take(AsBytes(file).subspan(next->offset, next->length));
    if (!taken.ok()) return taken;
  }
  parsed.found = (*parser)->TakeRecords();
  return parsed;
}

Parsed Found(const std::string& file, const RecordFields& fields,
             const ReadSizes& sizes = {}) {
  auto parsed = Parse(file, fields, sizes);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() ? *std::move(parsed) : Parsed();
}

std::string ThreeChunks() {
  return FileOf({ChunkOf({"abc", "d"}), ChunkOf({"ef"}),
                 ChunkOf({"", "", std::string(1000, 'g')})});
}

TEST(ArrayRecordParserTest, TheExtentOfARecordIsItsChunk) {
  const Parsed parsed = Found(ThreeChunks(), Whole("image"));
  EXPECT_THAT(parsed.found.begins, ElementsAre(64, 64, 112, 157, 157, 157));
  EXPECT_THAT(parsed.found.ends, ElementsAre(112, 112, 157, 1203, 1203, 1203));
  EXPECT_THAT(parsed.found.unpacked, ElementsAre(4, 4, 2, 1000, 1000, 1000));
  EXPECT_THAT(parsed.found.bounds,
              ElementsAre(LengthBounds{0, 1000}, LengthBounds{2, 1000}));
  // No chunk was read.
  EXPECT_EQ(parsed.read, (1 << 17) - 1203);
}

TEST(ArrayRecordParserTest, FilesMayHaveNoRecords) {
  const Parsed parsed = Found(FileOf({}), Whole("bytes"));
  EXPECT_THAT(parsed.found.ends, IsEmpty());
  EXPECT_THAT(parsed.found.bounds, IsEmpty());
}

TEST(ArrayRecordParserTest, ReadsChunksOfSeveralRecordsThatVary) {
  for (const std::uint64_t most_read : {1, 1000, 1 << 20}) {
    const Parsed parsed =
        Found(ThreeChunks(), Whole("bytes"), {.min = 0, .max = most_read});
    EXPECT_THAT(parsed.found.bounds,
                ElementsAre(LengthBounds{0, 1000}, LengthBounds{2, 1000}));
    EXPECT_EQ(parsed.found.ends.size(), 6);
    // One that is alone in its chunk is as long as that.
    EXPECT_THAT(parsed.found.unpacked, ElementsAre(3, 1, 2, 0, 0, 1000));
  }
  const std::string alone = FileOf({ChunkOf({"abc"}), ChunkOf({"defg"})});
  const Parsed parsed = Found(alone, Whole("bytes"));
  EXPECT_THAT(parsed.found.bounds,
              ElementsAre(LengthBounds{0, 4}, LengthBounds{3, 4}));
}

TEST(ArrayRecordParserTest, MeasuresTheRecordsOfItsOwnWriter) {
  for (const GoldenFile& golden : GoldenFiles()) {
    LengthBounds lengths;
    for (const GoldenRecord& record : golden.records)
      lengths.Add({record.length, record.length});
    const std::string file = GoldenBytes(golden.name);
    // Rows are measured whatever the chunks have.
    const Parsed parsed = Found(file, Whole("uint8[n]"));
    EXPECT_EQ(parsed.found.ends.size(), golden.records.size()) << golden.name;
    if (golden.records.empty()) continue;
    EXPECT_EQ(parsed.found.bounds[0], lengths) << golden.name;
    EXPECT_EQ(Found(file, Whole("bytes")).found.bounds[0].longest,
              lengths.longest)
        << golden.name;
  }
}

TEST(ArrayRecordParserTest, MeasuresFeaturesOfAnyLength) {
  const RecordFields fields =
      Features({"scores", "name"}, {"float32[n]", "text"});
  for (const char* const name : {"examples", "examples_8"}) {
    const Parsed parsed = Found(GoldenBytes(name), fields);
    EXPECT_EQ(parsed.found.bounds[0], (LengthBounds{0, 12})) << name;
    EXPECT_EQ(parsed.found.bounds[1], (LengthBounds{8, 9})) << name;
  }
}

TEST(ArrayRecordParserTest, DamagedChunksAreToldWhenTheyAreRead) {
  std::string file = ThreeChunks();
  file[110] ^= 1;
  const Parsed parsed = Found(file, Whole("bytes"));
  EXPECT_EQ(parsed.found.ends.size(), 6);
  EXPECT_EQ(parsed.found.bounds[0], (LengthBounds{0, 1000}));
}

TEST(ArrayRecordParserTest, ErrorsNameTheFile) {
  const auto error_of = [](const std::string& file) {
    const auto parsed = Parse(file, Whole("bytes"));
    EXPECT_FALSE(parsed.ok());
    return std::string(parsed.status().message());
  };
  EXPECT_THAT(error_of(""), HasSubstr("a.array_record: is no ArrayRecord"));
  EXPECT_THAT(error_of(std::string(1 << 17, 'x')),
              HasSubstr("a.array_record: at byte 65536: is no ArrayRecord"));
  EXPECT_THAT(error_of(GoldenBytes("transposed")), HasSubstr("transposed"));
  MadeChunk transposed = ChunkOf({"a", "b"});
  transposed.type = 't';
  EXPECT_THAT(error_of(FileOf({transposed})),
              HasSubstr("a.array_record: at byte 64: its records"));
}

TEST(ArrayRecordParserTest, AChunkThatNeverFitsIsRefused) {
  base::MemoryBudget budget(8 << 20);
  MadeChunk chunk = ChunkOf({"a"});
  chunk.decoded_bytes = 9 << 20;
  const auto parsed = Parse(FileOf({chunk}), Whole("image"), {}, &budget);
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kResourceExhausted);
  for (const std::uint64_t huge : {std::uint64_t{1} << 63, UINT64_MAX}) {
    chunk.decoded_bytes = huge;
    EXPECT_EQ(
        Parse(FileOf({chunk}), Whole("image"), {}, &budget).status().code(),
        absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(budget.used(), 0);
}

}  // namespace
}  // namespace forebay::dataset::array_record
