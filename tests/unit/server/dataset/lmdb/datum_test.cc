#include "server/dataset/lmdb/datum.h"

#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/lmdb/golden_lmdb.h"

namespace forebay::dataset::lmdb {
namespace {

using tests::HasCode;
using tests::IsOk;

// protobuf has written the messages, from caffe.proto. The comment above each
// one lists its fields.

// channels: 1 height: 2 width: 3 data: "abcdef" label: -1
constexpr std::string_view kBytes =
    "\x08\x01\x10\x02\x18\x03\x22\x06"
    "abcdef\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
// channels: 2 height: 1 width: 1 float_data: [1, -2] label: 7
constexpr std::string_view kFloats(
    "\x08\x02\x10\x01\x18\x01\x28\x07\x35\x00\x00\x80\x3f\x35\x00\x00\x00\xc0",
    18);
// The message has the same fields, but its floats are packed.
constexpr std::string_view kPackedFloats(
    "\x08\x02\x10\x01\x18\x01\x28\x07\x32\x08\x00\x00\x80\x3f\x00\x00\x00\xc0",
    18);
// data: "\xff\xd8\xff" label: 3 encoded: true
constexpr std::string_view kEncoded = "\x22\x03\xff\xd8\xff\x28\x03\x38\x01";

records::ValueType Type(std::string_view text) {
  return *records::ParseValueType(text);
}

TEST_CASE("The bytes of a Caffe Datum are an array", "[lmdb][datum]") {
  const auto datum = ParseDatum(AsBytes(kBytes));
  REQUIRE_THAT(datum, IsOk());
  CHECK(datum->label == -1);
  CHECK(TypeOf(*datum) == Type("uint8[1,2,3]"));
  ValueBuffers buffers;
  const auto content =
      ContentOf(*datum, Type("uint8[1,2,3]"), AsBytes(kBytes), &buffers);
  REQUIRE_THAT(content, IsOk());
  CHECK(std::get<ComputedBytes>(*content).bytes == AsBytes("abcdef"));
}

TEST_CASE("The numbers of a Caffe Datum are an array", "[lmdb][datum]") {
  for (const std::string_view message : {kFloats, kPackedFloats}) {
    const auto datum = ParseDatum(AsBytes(message));
    REQUIRE_THAT(datum, IsOk());
    CHECK(datum->label == 7);
    ValueBuffers buffers;
    const auto content =
        ContentOf(*datum, Type("float32[2,1,1]"), AsBytes(message), &buffers);
    REQUIRE_THAT(content, IsOk());
    const auto bytes = std::get<ComputedBytes>(*content).bytes;
    REQUIRE(bytes.size() == 8u);
    float numbers[2];
    std::memcpy(numbers, bytes.data(), sizeof(numbers));
    CHECK(numbers[0] == 1);
    CHECK(numbers[1] == -2);
  }
}

TEST_CASE("A file in a Caffe Datum is an image", "[lmdb][datum]") {
  const auto datum = ParseDatum(AsBytes(kEncoded));
  REQUIRE_THAT(datum, IsOk());
  ValueBuffers buffers;
  const auto content =
      ContentOf(*datum, Type("image"), AsBytes(kEncoded), &buffers);
  REQUIRE_THAT(content, IsOk());
  CHECK(std::get<FieldRange>(*content).offset == 2u);
  CHECK(std::get<FieldRange>(*content).length == 3u);
}

TEST_CASE("Numbers beside a file in a Caffe Datum are ignored",
          "[lmdb][datum]") {
  // data: "\xff\xd8\xff" encoded: true float_data: [1]
  constexpr std::string_view kBoth(
      "\x22\x03\xff\xd8\xff\x38\x01\x35\x00\x00\x80\x3f", 12);
  const auto datum = ParseDatum(AsBytes(kBoth));
  REQUIRE_THAT(datum, IsOk());
  ValueBuffers buffers;
  const auto content =
      ContentOf(*datum, Type("image"), AsBytes(kBoth), &buffers);
  REQUIRE_THAT(content, IsOk());
  CHECK(std::get<FieldRange>(*content).length == 3u);
}

TEST_CASE("A file without bytes in a Caffe Datum has no place",
          "[lmdb][datum]") {
  constexpr std::string_view kEmpty = "\x38\x01";  // encoded: true
  const auto datum = ParseDatum(AsBytes(kEmpty));
  REQUIRE_THAT(datum, IsOk());
  ValueBuffers buffers;
  const auto content =
      ContentOf(*datum, Type("image"), AsBytes(kEmpty), &buffers);
  REQUIRE_THAT(content, IsOk());
  CHECK(std::get<FieldRange>(*content).offset == 0u);
  CHECK(std::get<FieldRange>(*content).length == 0u);
}

TEST_CASE("A Caffe Datum refuses types other than its own", "[lmdb][datum]") {
  ValueBuffers buffers;
  const auto datum = ParseDatum(AsBytes(kBytes));
  REQUIRE_THAT(datum, IsOk());
  for (const char* const type : {"image", "uint8[3,2,1]", "float32[1,2,3]"}) {
    const auto content =
        ContentOf(*datum, Type(type), AsBytes(kBytes), &buffers);
    CHECK_THAT(content, HasCode(absl::StatusCode::kInvalidArgument));
  }
}

TEST_CASE("A Caffe Datum that contradicts itself has no type",
          "[lmdb][datum]") {
  // The messages have: five bytes instead of six; no extent; a negative extent;
  // extents whose product overflows; both kinds of data; and no data.
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
    REQUIRE_THAT(datum, IsOk());
    CHECK_FALSE(TypeOf(*datum).has_value());
    CHECK_FALSE(DescriptionOf(*datum).empty());
  }
}

TEST_CASE("Damaged messages are refused as a Caffe Datum", "[lmdb][datum]") {
  for (const std::string_view message :
       {kBytes.substr(0, 10), kFloats.substr(0, 17),
        std::string_view("\x22\xff"), std::string_view("text"),
        std::string_view("\x32\x03"
                         "abc")}) {
    CHECK(ParseDatum(AsBytes(message)).status() ==
          absl::DataLossError("is not a Datum of Caffe, or damaged"));
  }
}

TEST_CASE("The guess of a type takes only what is surely a Datum of Caffe",
          "[lmdb][datum]") {
  const auto guess = [](const std::vector<std::string_view>& values) {
    std::vector<absl::Span<const std::uint8_t>> bytes;
    for (const std::string_view value : values) bytes.push_back(AsBytes(value));
    return GuessDatumType(bytes);
  };
  CHECK(guess({kBytes, kBytes}) == Type("uint8[1,2,3]"));
  CHECK(guess({kFloats, kPackedFloats}) == Type("float32[2,1,1]"));
  CHECK(guess({kEncoded}) == Type("image"));
  CHECK_FALSE(guess({kBytes, kFloats}).has_value());
  CHECK_FALSE(guess({kBytes, "text"}).has_value());
  // The first message is an image only by its flag, and the second has an
  // unknown field.
  CHECK_FALSE(guess({"\x22\x03"
                     "abc\x38\x01"})
                  .has_value());
  CHECK_FALSE(
      guess({std::string(kBytes) + std::string("\x40\x01")}).has_value());
  CHECK_FALSE(guess({""}).has_value());
  CHECK_FALSE(guess({}).has_value());
}

}  // namespace
}  // namespace forebay::dataset::lmdb
