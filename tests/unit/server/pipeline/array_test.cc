#include "server/pipeline/array.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace forebay::pipeline {
namespace {

// A .npy file with that dictionary and so many bytes of data: 0, 1, 2, ...
std::vector<std::uint8_t> File(const std::string& dictionary,
                               std::size_t data_bytes) {
  std::string text = "\x93NUMPY\x01";
  text += '\0';
  text += static_cast<char>(dictionary.size());
  text += '\0';
  text += dictionary;
  std::vector<std::uint8_t> file(text.begin(), text.end());
  for (std::size_t i = 0; i < data_bytes; ++i) {
    file.push_back(static_cast<std::uint8_t>(i));
  }
  return file;
}

std::string Dictionary(const std::string& type, const std::string& shape,
                       bool fortran = false) {
  return "{'descr': '" + type +
         "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }";
}

TEST(ArrayTest, ReadsNumbersOfEveryType) {
  struct Case {
    const char* type;
    proto::DType dtype;
    std::uint64_t bytes;
    const char* name;
  };
  using proto::DType;
  for (const Case& c :
       std::vector<Case>{{"|b1", DType::kBool, 1, "bool"},
                         {"|i1", DType::kInt8, 1, "int8"},
                         {"<i2", DType::kInt16, 2, "int16"},
                         {"<i4", DType::kInt32, 4, "int32"},
                         {"<i8", DType::kInt64, 8, "int64"},
                         {"|u1", DType::kUint8, 1, "uint8"},
                         {"<u2", DType::kUint16, 2, "uint16"},
                         {"<u4", DType::kUint32, 4, "uint32"},
                         {"<u8", DType::kUint64, 8, "uint64"},
                         {"<f2", DType::kFloat16, 2, "float16"},
                         {"<f4", DType::kFloat32, 4, "float32"},
                         {"<f8", DType::kFloat64, 8, "float64"}}) {
    const auto file = File(Dictionary(c.type, "(2, 3)"), 6 * c.bytes);
    const auto array = ReadArray(file);
    ASSERT_TRUE(array.ok()) << c.type << ": " << array.status();
    EXPECT_EQ(array->type.dtype, c.dtype);
    EXPECT_EQ(proto::SizeOf(array->type.dtype), c.bytes);
    EXPECT_EQ(array->type.shape, (std::vector<std::uint64_t>{2, 3}));
    EXPECT_EQ(array->type.bytes, 6 * c.bytes);
    ASSERT_EQ(array->items.size(), 6 * c.bytes);
    EXPECT_EQ(array->items.data(), file.data() + file.size() - 6 * c.bytes);
    EXPECT_EQ(Describe(array->type), std::string(c.name) + " (2, 3)");
  }
}

TEST(ArrayTest, ShapesMayBeNoneOrEmpty) {
  const auto item = ReadArray(File(Dictionary("<f4", "()"), 4));
  ASSERT_TRUE(item.ok()) << item.status();
  EXPECT_EQ(Describe(item->type), "float32 ()");
  const auto none = ReadArray(File(Dictionary("<f4", "(0, 7)"), 0));
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->type.bytes, 0u);
  const auto row = ReadArray(File(Dictionary("<i8", "(1,)", true), 8));
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(Describe(row->type), "int64 (1,)");
  EXPECT_EQ(Describe(row->type, 0), "int64 (n,)");
  EXPECT_EQ(Describe(none->type, 0), "float32 (n, 7)");
  EXPECT_EQ(Describe(none->type, 1), "float32 (0, n)");
}

TEST(ArrayTest, RefusesWhatABatchCannotHave) {
  for (const std::string& dictionary :
       {Dictionary("<c8", "(2,)"), Dictionary(">f4", "(2,)"),
        Dictionary("<f4", "(2, 2)", true),
        Dictionary("<f4", "(1, 1, 1, 1, 1, 1)")}) {
    EXPECT_EQ(ReadArray(File(dictionary, 16)).status().code(),
              absl::StatusCode::kUnimplemented)
        << dictionary;
  }
  const auto cut = ReadArray(File(Dictionary("<f4", "(5,)"), 16)).status();
  EXPECT_EQ(cut.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(cut.message(), "is truncated: it has 16 of 20 bytes of data");
  EXPECT_EQ(ReadArray({}).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace forebay::pipeline
