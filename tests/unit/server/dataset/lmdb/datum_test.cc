#include "server/dataset/lmdb/datum.h"

#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/server/dataset/lmdb/golden_lmdb.h"

namespace forebay::dataset::lmdb {
namespace {

// Written by protobuf, of caffe.proto: see the comment of each.

// channels: 1 height: 2 width: 3 data: "abcdef" label: -1
constexpr std::string_view kBytes =
    "\x08\x01\x10\x02\x18\x03\x22\x06"
    "abcdef\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
// channels: 2 height: 1 width: 1 float_data: [1, -2] label: 7
constexpr std::string_view kFloats(
    "\x08\x02\x10\x01\x18\x01\x28\x07\x35\x00\x00\x80\x3f\x35\x00\x00\x00\xc0",
    18);
// The same, packed.
constexpr std::string_view kPackedFloats(
    "\x08\x02\x10\x01\x18\x01\x28\x07\x32\x08\x00\x00\x80\x3f\x00\x00\x00\xc0",
    18);
// data: "\xff\xd8\xff" label: 3 encoded: true
constexpr std::string_view kEncoded = "\x22\x03\xff\xd8\xff\x28\x03\x38\x01";

records::ValueType Type(std::string_view text) {
  return *records::ParseValueType(text);
}

TEST(DatumTest, BytesAreAnArray) {
  const auto datum = ParseDatum(AsBytes(kBytes));
  ASSERT_TRUE(datum.ok()) << datum.status();
  EXPECT_EQ(datum->label, -1);
  EXPECT_EQ(TypeOf(*datum), Type("uint8[1,2,3]"));
  MadeValues made;
  const auto content =
      ContentOf(*datum, Type("uint8[1,2,3]"), AsBytes(kBytes), &made);
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_EQ(std::get<MadeBytes>(*content).bytes, AsBytes("abcdef"));
}

TEST(DatumTest, NumbersAreAnArray) {
  for (const std::string_view message : {kFloats, kPackedFloats}) {
    const auto datum = ParseDatum(AsBytes(message));
    ASSERT_TRUE(datum.ok()) << datum.status();
    EXPECT_EQ(datum->label, 7);
    MadeValues made;
    const auto content =
        ContentOf(*datum, Type("float32[2,1,1]"), AsBytes(message), &made);
    ASSERT_TRUE(content.ok()) << content.status();
    const auto bytes = std::get<MadeBytes>(*content).bytes;
    ASSERT_EQ(bytes.size(), 8u);
    float numbers[2];
    std::memcpy(numbers, bytes.data(), sizeof(numbers));
    EXPECT_EQ(numbers[0], 1);
    EXPECT_EQ(numbers[1], -2);
  }
}

TEST(DatumTest, AFileIsAnImage) {
  const auto datum = ParseDatum(AsBytes(kEncoded));
  ASSERT_TRUE(datum.ok()) << datum.status();
  MadeValues made;
  const auto content =
      ContentOf(*datum, Type("image"), AsBytes(kEncoded), &made);
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_EQ(std::get<FieldRange>(*content).offset, 2u);
  EXPECT_EQ(std::get<FieldRange>(*content).length, 3u);
}

TEST(DatumTest, AFilesNumbersAreNobodys) {
  // data: "\xff\xd8\xff" encoded: true float_data: [1]
  constexpr std::string_view kBoth(
      "\x22\x03\xff\xd8\xff\x38\x01\x35\x00\x00\x80\x3f", 12);
  const auto datum = ParseDatum(AsBytes(kBoth));
  ASSERT_TRUE(datum.ok()) << datum.status();
  MadeValues made;
  const auto content = ContentOf(*datum, Type("image"), AsBytes(kBoth), &made);
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_EQ(std::get<FieldRange>(*content).length, 3u);
}

TEST(DatumTest, AFileWithoutBytesHasNoPlace) {
  constexpr std::string_view kEmpty = "\x38\x01";  // encoded: true
  const auto datum = ParseDatum(AsBytes(kEmpty));
  ASSERT_TRUE(datum.ok()) << datum.status();
  MadeValues made;
  const auto content = ContentOf(*datum, Type("image"), AsBytes(kEmpty), &made);
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_EQ(std::get<FieldRange>(*content).offset, 0u);
  EXPECT_EQ(std::get<FieldRange>(*content).length, 0u);
}

TEST(DatumTest, OtherTypesAreRefused) {
  MadeValues made;
  const auto datum = ParseDatum(AsBytes(kBytes));
  ASSERT_TRUE(datum.ok());
  for (const char* const type : {"image", "uint8[3,2,1]", "float32[1,2,3]"}) {
    const auto content = ContentOf(*datum, Type(type), AsBytes(kBytes), &made);
    EXPECT_EQ(content.status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(DatumTest, WhatContradictsItselfHasNoType) {
  // Five bytes, no extent, a negative one, extents that overflow, both kinds.
  for (const std::string_view message : {
           std::string_view("\x08\x01\x10\x02\x18\x03\x22\x05"
                            "abcde"),
           std::string_view("\x22\x01"
                            "a"),
           std::string_view("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10"
                            "\x01\x18\x01"),
           std::string_view("\x08\xff\xff\xff\xff\x07\x10\xff\xff\xff\xff\x07"
                            "\x18\xff\xff\xff\xff\x07"),
           std::string_view("\x08\x01\x10\x01\x18\x01\x22\x01"
                            "a\x35\x01\x01\x80\x3f"),
           std::string_view(),
       }) {
    const auto datum = ParseDatum(AsBytes(message));
    ASSERT_TRUE(datum.ok()) << datum.status();
    EXPECT_FALSE(TypeOf(*datum).has_value());
    EXPECT_FALSE(DescriptionOf(*datum).empty());
  }
}

TEST(DatumTest, DamagedMessagesAreRefused) {
  for (const std::string_view message :
       {kBytes.substr(0, 10), kFloats.substr(0, 17),
        std::string_view("\x22\xff"), std::string_view("text"),
        std::string_view("\x32\x03"
                         "abc")}) {
    EXPECT_EQ(ParseDatum(AsBytes(message)).status(),
              absl::DataLossError("is no Datum of Caffe, or damaged"));
  }
}

TEST(DatumTest, GuessesWhatIsSurelyADatum) {
  const auto guess = [](const std::vector<std::string_view>& values) {
    std::vector<absl::Span<const std::uint8_t>> bytes;
    for (const std::string_view value : values) bytes.push_back(AsBytes(value));
    return GuessDatumType(bytes);
  };
  EXPECT_EQ(guess({kBytes, kBytes}), Type("uint8[1,2,3]"));
  EXPECT_EQ(guess({kFloats, kPackedFloats}), Type("float32[2,1,1]"));
  EXPECT_EQ(guess({kEncoded}), Type("image"));
  EXPECT_FALSE(guess({kBytes, kFloats}).has_value());
  EXPECT_FALSE(guess({kBytes, "text"}).has_value());
  // An image that is none, and an unknown field.
  EXPECT_FALSE(guess({"\x22\x03"
                      "abc\x38\x01"})
                   .has_value());
  EXPECT_FALSE(
      guess({std::string(kBytes) + std::string("\x40\x01")}).has_value());
  EXPECT_FALSE(guess({""}).has_value());
  EXPECT_FALSE(guess({}).has_value());
}

}  // namespace
}  // namespace forebay::dataset::lmdb
