#include "server/dataset/records/whole_value.h"

#include <string>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "server/dataset/records/content_guess.h"

namespace forebay::dataset::records {
namespace {

absl::Span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

ValueType TypeOf(std::string_view text) { return *ParseValueType(text); }

TEST(WholeValueTest, IsAPartOfTheRecord) {
  const auto record = AsBytes("xvalue");
  MadeValues made;
  const auto value =
      WholeValue(TypeOf("bytes"), record, record.subspan(1), &made);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(std::get<FieldRange>(*value).offset, 1u);
  EXPECT_EQ(std::get<FieldRange>(*value).length, 5u);
  const auto empty =
      WholeValue(TypeOf("text"), record.first(1), record.subspan(1, 0), &made);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(std::get<FieldRange>(*empty).length, 0u);
}

TEST(WholeValueTest, ElementsAreCopied) {
  const auto record = AsBytes("x01234567");
  MadeValues made;
  for (const char* const type : {"float32[2]", "int16[n,2]", "uint8[n]"}) {
    const auto value =
        WholeValue(TypeOf(type), record, record.subspan(1), &made);
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(std::get<MadeBytes>(*value).bytes, record.subspan(1));
  }
  const auto other =
      WholeValue(TypeOf("float32[3]"), record, record.subspan(1), &made);
  EXPECT_EQ(other.status(),
            absl::InvalidArgumentError("has 8 bytes, which are no float32[3]"));
  EXPECT_FALSE(
      WholeValue(TypeOf("float64[n,3]"), record, record.subspan(1), &made)
          .ok());
}

TEST(WholeValueTest, FieldsHaveRoomForTheirLongestValue) {
  EXPECT_EQ(FieldOf("f", TypeOf("image"), 77).longest, 77u);
  EXPECT_EQ(FieldOf("f", TypeOf("int64"), 77).longest, 77u);
  EXPECT_EQ(FieldOf("f", TypeOf("float32[2]"), 77).longest, 8u);
  EXPECT_EQ(FieldOf("f", TypeOf("float32[n,2]"), 77).longest, 72u);
  EXPECT_EQ(FieldOf("f", TypeOf("float32[n,2]"), 0).longest, 8u);
}

TEST(ContentGuessTest, GuessesOneTypeOfAll) {
  const auto guess = [](const std::vector<std::string_view>& payloads) {
    std::vector<absl::Span<const std::uint8_t>> bytes;
    for (const std::string_view payload : payloads)
      bytes.push_back(AsBytes(payload));
    return GuessType(bytes);
  };
  EXPECT_EQ(guess({"\xff\xd8\xff\xe0", "\x89PNG\r\n\x1a"}), "image");
  EXPECT_EQ(guess({"\x93NUMPY\x01"}), "npy");
  EXPECT_EQ(guess({"a\tb\n", "\xc3\xbc"}), "text");
  EXPECT_EQ(guess({"text", "\xff\xd8\xff\xe0"}), "bytes");
  EXPECT_EQ(guess({"", "text"}), "text");
  EXPECT_EQ(guess({""}), "bytes");
  EXPECT_EQ(guess({}), "bytes");
}

}  // namespace
}  // namespace forebay::dataset::records
