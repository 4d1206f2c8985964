#include "server/storage/http/content_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace forebay::storage::http {
namespace {

Answer Part(const std::string& content_range, std::uint64_t filled) {
  Answer answer;
  answer.status = 206;
  answer.headers = {{"content-range", content_range}};
  answer.filled = filled;
  return answer;
}

TEST(ContentRangeTest, ParsesWhatIsWellFormed) {
  const auto range = ParseContentRange("bytes 5-9/100");
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->first, 5);
  EXPECT_EQ(range->last, 9);
  EXPECT_EQ(range->object_size, 100);
  EXPECT_FALSE(ParseContentRange("bytes 5-9/*")->object_size.has_value());
  EXPECT_EQ(ParseContentRange("bytes 0-0/18446744073709551615")->object_size,
            UINT64_MAX);
}

TEST(ContentRangeTest, RefusesAllElse) {
  for (const char* text :
       {"", "bytes", "bytes ", "bytes 5", "bytes 5-", "bytes 5-9", "bytes 5-9/",
        "bytes 9-5/100", "bytes 5-9/9", "bytes 5-9/100x", "bytes -5-9/100",
        "bytes 5 -9/100", "bytes */100", "bytes=5-9/100", "items 5-9/100",
        "bytes 0-0/18446744073709551616", "bytes +5-9/100", "bytes 5-9/**"})
    EXPECT_FALSE(ParseContentRange(text).has_value()) << text;
}

TEST(ContentRangeTest, AsksForWhatItChecks) {
  EXPECT_EQ(RangeHeader({5, 5}), "Range: bytes=5-9");
  EXPECT_TRUE(CheckRange(Part("bytes 5-9/100", 5), {5, 5}, 100).ok());
}

TEST(ContentRangeTest, TellsWhatIsWrong) {
  EXPECT_TRUE(absl::IsFailedPrecondition(
      CheckRange(Part("bytes 5-9/101", 5), {5, 5}, 100)));
  for (const char* other : {"bytes 4-8/100", "bytes 5-8/100", "nonsense"})
    EXPECT_TRUE(absl::IsUnavailable(CheckRange(Part(other, 5), {5, 5}, 100)));
  EXPECT_TRUE(
      absl::IsDataLoss(CheckRange(Part("bytes 5-9/100", 4), {5, 5}, 100)));
  Answer longer = Part("bytes 5-9/100", 5);
  longer.failure = Failure::kTooLong;
  EXPECT_TRUE(absl::IsDataLoss(CheckRange(longer, {5, 5}, 100)));
  Answer none = Part("bytes 5-9/100", 5);
  none.headers.clear();
  EXPECT_TRUE(absl::IsUnavailable(CheckRange(none, {5, 5}, 100)));
  none.status = 204;
  EXPECT_TRUE(absl::IsUnavailable(CheckRange(none, {5, 5}, 100)));
}

TEST(ContentRangeTest, AllOfAnObjectIsGoodWhereAllWasAskedFor) {
  Answer all;
  all.status = 200;
  all.headers = {{"content-length", "5"}};
  all.filled = 5;
  EXPECT_TRUE(CheckRange(all, {0, 5}, 5).ok());
  EXPECT_TRUE(absl::IsUnimplemented(CheckRange(all, {0, 4}, 5)));
  EXPECT_TRUE(absl::IsUnimplemented(CheckRange(all, {1, 5}, 6)));
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckRange(all, {0, 6}, 6)));
  all.headers.clear();
  EXPECT_TRUE(CheckRange(all, {0, 5}, 5).ok());
  EXPECT_TRUE(absl::IsDataLoss(CheckRange(all, {0, 6}, 6)));
}

TEST(ContentRangeTest, NamesTheEncodingThatMakesRangesImpossible) {
  Answer all;
  all.status = 200;
  all.headers = {{"content-length", "3"}, {"content-encoding", "gzip"}};
  all.filled = 3;
  // Objects that are stored compressed are read as they are.
  EXPECT_TRUE(CheckRange(all, {0, 3}, 3).ok());
  for (const ByteRange range : {ByteRange{1, 2}, ByteRange{0, 5}}) {
    const absl::Status status = CheckRange(all, range, 5);
    EXPECT_TRUE(absl::IsUnimplemented(status));
    EXPECT_THAT(std::string(status.message()),
                testing::HasSubstr("Content-Encoding: gzip"));
  }
  all.headers.erase(all.headers.begin());
  EXPECT_TRUE(absl::IsUnimplemented(CheckRange(all, {0, 5}, 5)));
  all.failure = Failure::kTooLong;
  all.filled = 2;
  EXPECT_TRUE(absl::IsUnimplemented(CheckRange(all, {0, 2}, 2)));
}

}  // namespace
}  // namespace forebay::storage::http
