#include "server/dataset/shards/pax_records.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"

namespace forebay::dataset::shards {
namespace {

absl::StatusOr<PaxRecords> Parse(std::string_view text) {
  return ParsePaxRecords(AsBytes(text));
}

TEST(PaxRecordsTest, FindsWhatItKnows) {
  const auto records = Parse(
      "10 path=a\n30 mtime=1600000000.500000000\n11 path=b\xff\n"
      "14 size=12345\n11 weird==\n");
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_EQ(records->path, "b\xff");
  EXPECT_EQ(records->size, 12345u);
  EXPECT_FALSE(records->sparse);
}

TEST(PaxRecordsTest, NothingIsFine) {
  for (const std::string& none : {std::string(), std::string(100, '\0')}) {
    const auto records = Parse(none);
    ASSERT_TRUE(records.ok()) << records.status();
    EXPECT_FALSE(records->path.has_value() || records->size.has_value());
  }
}

TEST(PaxRecordsTest, AnEmptyValueTakesAnEarlierOneBack) {
  const auto records = Parse("9 path=a\n8 path=\n9 size=1\n8 size=\n");
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_FALSE(records->path.has_value() || records->size.has_value());
}

TEST(PaxRecordsTest, NewlinesAndEqualSignsAreWelcomeInValues) {
  const auto records = Parse("15 path=a=\nb=c\n");
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_EQ(records->path, "a=\nb=c");
}

TEST(PaxRecordsTest, SparseFilesShow) {
  const auto records = Parse("22 GNU.sparse.major=1\n");
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_TRUE(records->sparse);
}

TEST(PaxRecordsTest, RefusesWhatIsMalformed) {
  using std::string_view_literals::operator""sv;
  for (const std::string_view text :
       {"9 path=a"sv, "8 path=a\n"sv, "11 path=a\n"sv, "path=a\n"sv,
        "-9 path=a\n"sv, " 9 path=a\n"sv, "0 path=a\n"sv, "4 =\n"sv,
        "6 =a\n "sv, "6 abc\n"sv, "99999999999999999999 path=a\n"sv,
        "18446744073709551615 a=b\n"sv, "10 size=-1\n"sv, "10 size=1x\n"sv,
        "29 size=99999999999999999999\n"sv, "11 path=a\0b\n"sv,
        "9 path=a\n9 path=b"sv, "3\n"sv, "1 \n"sv}) {
    EXPECT_EQ(Parse(text).status().code(), absl::StatusCode::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace forebay::dataset::shards
