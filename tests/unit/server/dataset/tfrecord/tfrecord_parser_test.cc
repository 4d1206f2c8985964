#include "server/dataset/tfrecord/tfrecord_parser.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/tfrecord/example_builder.h"

namespace forebay::dataset::tfrecord {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Parses a file; returns how many bytes it had to read.
absl::StatusOr<std::uint64_t> Parse(const std::string& file,
                                    const ReadSizes& sizes,
                                    const RecordFields* measured,
                                    records::FileRecords* found) {
  base::WorkingMemory memory(base::AmpleBudget(), "records");
  TfrecordParser parser({"a.tfrecord", {.size = file.size()}}, sizes, measured,
                        &memory);
  std::uint64_t read = 0;
  while (const auto next = parser.next_read()) {
    EXPECT_GT(next->length, 0);
    EXPECT_LE(next->offset + next->length, file.size());
    read += next->length;
    absl::Status taken =
        parser.Take(AsBytes(file).subspan(next->offset, next->length));
    if (!taken.ok()) return taken;
  }
  *found = parser.TakeRecords();
  return read;
}

records::FileRecords Parsed(const std::string& file,
                            const ReadSizes& sizes = {}) {
  records::FileRecords found;
  const auto read = Parse(file, sizes, nullptr, &found);
  EXPECT_TRUE(read.ok()) << read.status();
  return found;
}

std::string ErrorOf(const std::string& file) {
  records::FileRecords found;
  return std::string(Parse(file, {}, nullptr, &found).status().message());
}

TEST(TfrecordParserTest, FindsRecordsWhateverIsReadAtATime) {
  const std::string file =
      Frame("") + Frame("abc") + Frame(std::string(10'000, 'x')) + Frame("d");
  for (const ReadSizes& sizes :
       {ReadSizes{12, 12}, ReadSizes{13, 1000}, ReadSizes{4096, 1 << 18}}) {
    EXPECT_THAT(Parsed(file, sizes).ends,
                ElementsAre(16, 35, 10'051, file.size()));
  }
  EXPECT_THAT(Parsed("").ends, IsEmpty());
}

TEST(TfrecordParserTest, StepsOverLargeRecords) {
  std::string file;
  for (int i = 0; i < 20; ++i) file += Frame(std::string(1 << 20, 'x'));
  records::FileRecords found;
  const auto read = Parse(file, {}, nullptr, &found);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(found.ends.size(), 20);
  EXPECT_LE(*read, 20 * 4096);
}

TEST(TfrecordParserTest, MeasuresListsOfAnyLength) {
  const auto fields = RecordFields::OfExamples(
      std::vector<std::string>{"a"}, std::vector<std::string>{"float32[n]"});
  ASSERT_TRUE(fields.ok());
  std::string damaged = Frame(Example({{"a", FloatFeature({1, 2, 3, 4})}}));
  damaged[20] ^= 1;
  const std::string file = Frame(Example({{"a", FloatFeature({1, 2})}})) +
                           damaged + Frame("") +
                           Frame(Example({{"a", FloatFeature({1, 2, 3})}}));
  for (const ReadSizes& sizes : {ReadSizes{12, 12}, ReadSizes{4096, 1 << 18}}) {
    records::FileRecords found;
    ASSERT_TRUE(Parse(file, sizes, &*fields, &found).ok());
    EXPECT_EQ(found.ends.size(), 4);
    EXPECT_THAT(found.bounds, ElementsAre(records::LengthBounds{
                                  .shortest = 0, .longest = 12}));
  }
}

TEST(TfrecordParserTest, EachTruncationIsTold) {
  const std::string file = Frame("abc") + Frame("defg");
  for (std::size_t length = 1; length < file.size(); ++length) {
    if (length == 19) continue;
    EXPECT_THAT(
        ErrorOf(file.substr(0, length)),
        testing::MatchesRegex("a.tfrecord: at byte (0|19): is truncated: .*"))
        << length;
  }
}

TEST(TfrecordParserTest, SaysWhichRecordIsDamaged) {
  std::string file = Frame("abc") + Frame("defg");
  file[19] ^= 1;
  EXPECT_EQ(ErrorOf(file),
            "a.tfrecord: at byte 19: is no TFRecord file, or damaged: the "
            "checksum of a record's length does not match");
  EXPECT_EQ(ErrorOf(Frame(std::string(5, 'x')).substr(0, 20)),
            "a.tfrecord: at byte 0: is truncated: a record has 5 bytes, of "
            "which 4 are there");
}

TEST(TfrecordParserTest, LengthsOfAnySizeAreToldToBeTooLong) {
  for (const std::uint64_t length :
       {std::uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 15, UINT64_MAX - 16}) {
    std::string payload(reinterpret_cast<const char*>(&length), sizeof(length));
    // The frame of eight bytes ends with their checksum.
    const std::string frame = Frame(payload);
    const std::string file = frame.substr(12) + std::string(100, 'x');
    EXPECT_THAT(ErrorOf(file), testing::HasSubstr("of which 96 are there"));
  }
}

TEST(TfrecordParserTest, CountsRecordsInItsMemory) {
  std::string file;
  for (int i = 0; i < 200'000; ++i) file += Frame("");
  base::MemoryBudget budget(1 << 20);
  base::WorkingMemory memory(&budget, "records");
  TfrecordParser parser({"a.tfrecord", {.size = file.size()}}, {}, nullptr,
                        &memory);
  absl::Status status;
  while (status.ok()) {
    const auto next = parser.next_read();
    ASSERT_TRUE(next.has_value());
    status = parser.Take(AsBytes(file).subspan(next->offset, next->length));
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

}  // namespace
}  // namespace forebay::dataset::tfrecord
