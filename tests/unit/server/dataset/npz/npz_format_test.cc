#include "server/dataset/npz/npz_format.h"

#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/working_memory.h"
#include "server/dataset/npz/npz_archive.h"
#include "server/dataset/npz/npz_parser.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/npz/golden_npz.h"

namespace forebay::dataset::npz {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::Span<const std::uint8_t> AsBytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string TextOf(absl::Span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The values that a format reads in a file, as .npy files; or the error.
std::vector<std::string> Values(const std::vector<std::string>& names,
                                const std::string& file) {
  const auto format = *NpzFormat::Create(names, false);
  std::vector<FieldValue> values(names.size());
  MadeValues made;
  const absl::Status status =
      format->ReadValues(AsBytes(file), absl::MakeSpan(values), &made);
  if (!status.ok()) return {std::string(status.message())};
  std::vector<std::string> found;
  for (const FieldValue& value : values) {
    if (const auto* const range = std::get_if<FieldRange>(&value)) {
      found.push_back(file.substr(range->offset, range->length));
    } else {
      found.push_back(TextOf(std::get<MadeBytes>(value).bytes));
    }
  }
  return found;
}

absl::StatusOr<records::FileRecords> Parse(
    const std::vector<std::string>& names, const std::string& file) {
  base::WorkingMemory memory(base::AmpleBudget(), "a test");
  auto parser = NpzParser::Create({"a.npz", {file.size(), 1}}, &names, &memory);
  if (!parser.ok()) return parser.status();
  while (const auto read = (*parser)->next_read()) {
    const absl::Status taken =
        (*parser)->Take(AsBytes(file).subspan(read->offset, read->length));
    if (!taken.ok()) return taken;
  }
  return (*parser)->TakeRecords();
}

class NpzFormatTest : public testing::TestWithParam<const char*> {};

TEST_P(NpzFormatTest, FindsTheArraysOfAFile) {
  const std::string file = GoldenNpz(GetParam());
  const std::uint8_t more = GetParam()[0] == 'd' ? 1 : 0;
  const std::vector<std::string> found = Values({"y", "scalar"}, file);
  ASSERT_EQ(found.size(), 2) << found.front();
  EXPECT_THAT(found[0], HasSubstr("'|u1'"));
  EXPECT_EQ(found[0].substr(128), std::string("\0\1\2\3\4\5", 5u + more));
  std::int64_t scalar = 0;
  ASSERT_EQ(found[1].size(), 128 + sizeof(scalar));
  std::memcpy(&scalar, found[1].data() + 128, sizeof(scalar));
  EXPECT_EQ(scalar, 7 + more);
}

TEST(NpzFormatRoomTest, InflatesIntoOneRoom) {
  const std::string file = GoldenNpz("deflated.npz");
  const auto format = *NpzFormat::Create({"x", "y"}, false);
  std::vector<std::uint8_t> scratch;
  const auto ask = [&](std::uint64_t bytes) {
    EXPECT_TRUE(scratch.empty()) << "asked twice";
    scratch.resize(bytes);
    return absl::MakeSpan(scratch);
  };
  const UnpackRoom room = ask;
  MadeValues made(&room);
  std::vector<FieldValue> values(2);
  ASSERT_TRUE(
      format->ReadValues(AsBytes(file), absl::MakeSpan(values), &made).ok());
  EXPECT_EQ(made.bytes(), 0u);
  EXPECT_EQ(std::get<MadeBytes>(values[0]).bytes.data(), scratch.data());
  EXPECT_EQ(TextOf(std::get<MadeBytes>(values[1]).bytes).substr(128),
            std::string("\0\1\2\3\4\5", 6));
}

TEST_P(NpzFormatTest, MeasuresTheArraysOfAFile) {
  const std::string file = GoldenNpz(GetParam());
  const std::uint64_t more = GetParam()[0] == 'd' ? 1 : 0;
  const auto records = Parse({"long", "x"}, file);
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_EQ(records->begin, 0);
  EXPECT_THAT(records->ends, ElementsAre(file.size()));
  ASSERT_EQ(records->bounds.size(), 2);
  EXPECT_EQ(records->bounds[0].longest, 128 + 2 * (2000 + more));
  EXPECT_EQ(records->bounds[1].shortest, 128 + 24 * (5 + more));
}

TEST_P(NpzFormatTest, NoticesDamageInEachByteOfAnArray) {
  const std::string file = GoldenNpz(GetParam());
  const auto members = *ReadMembers(AsBytes(file));
  const zip::ZipMember& member = *FindArray(members, "y");
  for (std::uint64_t i = 0; i < member.compressed; ++i) {
    std::string damaged = file;
    damaged[member.header_offset + zip::kHeaderBytes + member.name.size() +
            i] ^= 0x40;
    const auto found = Values({"y"}, damaged);
    // zip64's extra field lies before the data.
    if (found.front() == Values({"y"}, file).front()) continue;
    EXPECT_THAT(found.front(), testing::StartsWith("y: "));
  }
}

TEST_P(NpzFormatTest, NoticesThatItIsCutOff) {
  const std::string file = GoldenNpz(GetParam());
  for (std::size_t bytes = 0; bytes < file.size(); bytes += 7) {
    EXPECT_FALSE(Parse({"x"}, file.substr(0, bytes)).ok());
    EXPECT_EQ(Values({"x"}, file.substr(0, bytes)).size(), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, NpzFormatTest,
                         testing::Values("stored.npz", "deflated.npz"));

TEST(NpzFormatErrorTest, AnArrayThatLacksIsNamedWithOthers) {
  const std::string file = GoldenNpz("stored.npz");
  EXPECT_EQ(Parse({"z"}, file).status(),
            absl::InvalidArgumentError(
                "a.npz: there is no array z; there are x, y, scalar, long, "
                "words"));
  EXPECT_THAT(Values({"z"}, file),
              ElementsAre("there is no array z; there are x, y, scalar, long, "
                          "words"));
  EXPECT_THAT(Values({"z"}, GoldenNpz("empty.npz")),
              ElementsAre("there is no array z"));
}

TEST(NpzFormatErrorTest, NamesMustBeFields) {
  EXPECT_FALSE(NpzFormat::Create({}, false).ok());
  EXPECT_FALSE(NpzFormat::Create({"a", "b", "a"}, false).ok());
  EXPECT_FALSE(NpzFormat::Create({std::string(32, 'a')}, false).ok());
  EXPECT_FALSE(NpzFormat::Create({""}, false).ok());
  EXPECT_FALSE(
      NpzFormat::Create(std::vector<std::string>(16, "a"), false).ok());
}

TEST(NpzFormatTextTest, MakesTheSameFormatAgain) {
  const auto format = *NpzFormat::Create({"x", "arr_0", "a b"}, false);
  const auto again = NpzFormat::Parse(format->text());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->text(), format->text());
  for (const std::string_view text :
       {"", "npz files", "npz filesx", "npz files\1x", "mds"}) {
    EXPECT_EQ(NpzFormat::Parse(text).status().code(),
              absl::StatusCode::kDataLoss)
        << text;
  }
}

TEST(NpzArchiveTest, ManyDeflatedBytesAreNotInflatedForASample) {
  zip::ZipMember member = {.name = "a.npy",
                           .compressed = 1 << 20,
                           .length = std::uint64_t{1} << 29,
                           .method = zip::ZipMethod::kDeflated};
  std::uint64_t inflated = 0;
  EXPECT_TRUE(CountInflated(member, &inflated).ok());
  EXPECT_TRUE(CountInflated(member, &inflated).ok());
  EXPECT_EQ(CountInflated(member, &inflated).code(),
            absl::StatusCode::kUnimplemented);
  member.length = UINT64_MAX;
  EXPECT_FALSE(CountInflated(member, &inflated).ok());
  member.method = zip::ZipMethod::kStored;
  EXPECT_TRUE(CountInflated(member, &inflated).ok());
}

TEST(NpzFormatLabelTest, FilesInClassesHaveALabel) {
  const auto format = NpzFormat::Create({"x"}, true);
  ASSERT_TRUE(format.ok()) << format.status();
  EXPECT_EQ((*format)->class_field(), std::size_t{1});
  EXPECT_NE((*format)->text(), (*NpzFormat::Create({"x"}, false))->text());
  const auto again = NpzFormat::Parse((*format)->text());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->class_field(), std::size_t{1});
  EXPECT_EQ((*NpzFormat::Create({"x"}, false))->class_field(), std::nullopt);
}

TEST(NpzFormatLabelTest, ALabelTakesAFieldAndItsName) {
  EXPECT_FALSE(NpzFormat::Create({"x", "label"}, true).ok());
  EXPECT_TRUE(NpzFormat::Create({"x", "label"}, false).ok());
  std::vector<std::string> names;
  for (int i = 0; i < 15; ++i) names.push_back("x" + std::to_string(i));
  EXPECT_TRUE(NpzFormat::Create(names, false).ok());
  EXPECT_FALSE(NpzFormat::Create(names, true).ok());
}

}  // namespace
}  // namespace forebay::dataset::npz
