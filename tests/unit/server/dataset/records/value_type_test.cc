#include "server/dataset/records/value_type.h"

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::dataset::records {
namespace {

using tests::HasCode;
using tests::IsOk;

using proto::DType;
using proto::FieldKind;

TEST_CASE("The parser of value types reads each kind",
          "[records][value_type]") {
  for (const auto& [text, kind] :
       {std::pair{"jpg", FieldKind::kImage}, {"png", FieldKind::kImage},
        {"jpeg", FieldKind::kImage},         {"image", FieldKind::kImage},
        {"webp", FieldKind::kImage},         {"gif", FieldKind::kImage},
        {"bmp", FieldKind::kImage},          {"tif", FieldKind::kImage},
        {"tiff", FieldKind::kImage},         {"avif", FieldKind::kImage},
        {"int64", FieldKind::kLabel},        {"cls", FieldKind::kLabel},
        {"label", FieldKind::kLabel},        {"text", FieldKind::kText},
        {"txt", FieldKind::kText},           {"json", FieldKind::kJson},
        {"bytes", FieldKind::kBytes},        {"npy", FieldKind::kArray},
        {"audio", FieldKind::kAudio},        {"wav", FieldKind::kAudio},
        {"mp3", FieldKind::kAudio}}) {
    const auto type = ParseValueType(text);
    CAPTURE(text);
    REQUIRE_THAT(type, IsOk());
    CHECK(*type == ValueType{.kind = kind});
  }
}

TEST_CASE("The parser of value types reads arrays", "[records][value_type]") {
  CHECK(*ParseValueType("float32") ==
        ValueType{FieldKind::kArray, ArrayType{DType::kFloat32, {}}});
  CHECK(*ParseValueType("uint8[28,28,1]") ==
        ValueType{FieldKind::kArray, ArrayType{DType::kUint8, {28, 28, 1}}});
  CHECK(*ParseValueType("int64[n]") ==
        ValueType{FieldKind::kArray, ArrayType{DType::kInt64, {}}, true});
  CHECK(*ParseValueType("bool[n,4]") ==
        ValueType{FieldKind::kArray, ArrayType{DType::kBool, {4}}, true});
}

TEST_CASE("A value type's text makes the type again", "[records][value_type]") {
  for (const char* const text :
       {"image", "int64", "text", "json", "bytes", "npy", "audio", "float32",
        "float16[3]", "float64[2,3,4,5,6]", "uint16[n]", "int8[n,1,2]"}) {
    const auto type = ParseValueType(text);
    CAPTURE(text);
    REQUIRE_THAT(type, IsOk());
    CHECK(TextOf(*type) == text);
  }
}

TEST_CASE("The parser of value types refuses all else",
          "[records][value_type]") {
  for (const char* const text :
       {"", "JPG", "float", "float32[", "float32[]", "float32]", "float32[0]",
        "float32[-1]", "float32[3,n]", "float32[n,n]", "float32[m]",
        "float32[1,2,3,4,5,6]", "float32[1e3]", "float32[3]x", "[3]",
        "uint8[1099511627776,2]", "uint8[18446744073709551616]", "jpg[3]"}) {
    const auto type = ParseValueType(text);
    CAPTURE(text);
    CHECK_THAT(type, HasCode(absl::StatusCode::kInvalidArgument));
  }
}

}  // namespace
}  // namespace forebay::dataset::records
