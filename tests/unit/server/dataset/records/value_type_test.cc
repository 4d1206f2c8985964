#include "server/dataset/records/value_type.h"

#include "gtest/gtest.h"

namespace forebay::dataset::records {
namespace {

using proto::DType;
using proto::FieldKind;

TEST(ValueTypeTest, ReadsEachKind) {
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
    ASSERT_TRUE(type.ok()) << text;
    EXPECT_EQ(*type, ValueType{.kind = kind}) << text;
  }
}

TEST(ValueTypeTest, ReadsArrays) {
  EXPECT_EQ(*ParseValueType("float32"),
            (ValueType{FieldKind::kArray, ArrayType{DType::kFloat32, {}}}));
  EXPECT_EQ(
      *ParseValueType("uint8[28,28,1]"),
      (ValueType{FieldKind::kArray, ArrayType{DType::kUint8, {28, 28, 1}}}));
  EXPECT_EQ(*ParseValueType("int64[n]"),
            (ValueType{FieldKind::kArray, ArrayType{DType::kInt64, {}}, true}));
  EXPECT_EQ(*ParseValueType("bool[n,4]"),
            (ValueType{FieldKind::kArray, ArrayType{DType::kBool, {4}}, true}));
}

TEST(ValueTypeTest, ATypesTextMakesItAgain) {
  for (const char* const text :
       {"image", "int64", "text", "json", "bytes", "npy", "audio", "float32",
        "float16[3]", "float64[2,3,4,5,6]", "uint16[n]", "int8[n,1,2]"}) {
    const auto type = ParseValueType(text);
    ASSERT_TRUE(type.ok()) << text;
    EXPECT_EQ(TextOf(*type), text);
  }
}

TEST(ValueTypeTest, RefusesAllElse) {
  for (const char* const text :
       {"", "JPG", "float", "float32[", "float32[]", "float32]", "float32[0]",
        "float32[-1]", "float32[3,n]", "float32[n,n]", "float32[m]",
        "float32[1,2,3,4,5,6]", "float32[1e3]", "float32[3]x", "[3]",
        "uint8[1099511627776,2]", "uint8[18446744073709551616]", "jpg[3]"}) {
    const auto type = ParseValueType(text);
    EXPECT_EQ(type.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace forebay::dataset::records
