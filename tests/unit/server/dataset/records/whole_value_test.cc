#include "server/dataset/records/whole_value.h"

#include <string>
#include <variant>
#include <vector>

#include "server/dataset/records/content_guess.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::dataset::records {
namespace {

using tests::IsOk;

absl::Span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

ValueType TypeOf(std::string_view text) { return *ParseValueType(text); }

TEST_CASE("A whole value is a part of the record", "[records][whole_value]") {
  const auto record = AsBytes("xvalue");
  ValueBuffers buffers;
  const auto value =
      WholeValue(TypeOf("bytes"), record, record.subspan(1), &buffers);
  REQUIRE_THAT(value, IsOk());
  CHECK(std::get<FieldRange>(*value).offset == 1u);
  CHECK(std::get<FieldRange>(*value).length == 5u);
  const auto empty = WholeValue(TypeOf("text"), record.first(1),
                                record.subspan(1, 0), &buffers);
  REQUIRE_THAT(empty, IsOk());
  CHECK(std::get<FieldRange>(*empty).length == 0u);
}

TEST_CASE("A whole value's array elements are copied",
          "[records][whole_value]") {
  const auto record = AsBytes("x01234567");
  ValueBuffers buffers;
  for (const char* const type : {"float32[2]", "int16[n,2]", "uint8[n]"}) {
    const auto value =
        WholeValue(TypeOf(type), record, record.subspan(1), &buffers);
    REQUIRE_THAT(value, IsOk());
    CHECK(std::get<ComputedBytes>(*value).bytes == record.subspan(1));
  }
  const auto other =
      WholeValue(TypeOf("float32[3]"), record, record.subspan(1), &buffers);
  CHECK(other.status() ==
        absl::InvalidArgumentError("has 8 bytes, which are not float32[3]"));
  CHECK_FALSE(
      WholeValue(TypeOf("float64[n,3]"), record, record.subspan(1), &buffers)
          .ok());
}

TEST_CASE("A field of whole values has room for its longest value",
          "[records][whole_value]") {
  CHECK(FieldOf("f", TypeOf("image"), 77).longest == 77u);
  CHECK(FieldOf("f", TypeOf("int64"), 77).longest == 77u);
  CHECK(FieldOf("f", TypeOf("float32[2]"), 77).longest == 8u);
  CHECK(FieldOf("f", TypeOf("float32[n,2]"), 77).longest == 72u);
  CHECK(FieldOf("f", TypeOf("float32[n,2]"), 0).longest == 8u);
}

TEST_CASE("A content guess gives one type for all payloads",
          "[records][whole_value]") {
  const auto guess = [](const std::vector<std::string_view>& payloads) {
    std::vector<absl::Span<const std::uint8_t>> bytes;
    for (const std::string_view payload : payloads)
      bytes.push_back(AsBytes(payload));
    return GuessType(bytes);
  };
  CHECK(guess({"\xff\xd8\xff\xe0", "\x89PNG\r\n\x1a"}) == "image");
  CHECK(guess({"\x93NUMPY\x01"}) == "npy");
  CHECK(guess({"a\tb\n", "\xc3\xbc"}) == "text");
  CHECK(guess({"text", "\xff\xd8\xff\xe0"}) == "bytes");
  CHECK(guess({"", "text"}) == "text");
  CHECK(guess({""}) == "bytes");
  CHECK(guess({}) == "bytes");
}

}  // namespace
}  // namespace forebay::dataset::records
