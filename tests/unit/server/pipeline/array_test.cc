#include "server/pipeline/array.h"

#include <cstdint>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::pipeline {
namespace {

using tests::HasCode;
using tests::IsOk;

// Returns a .npy file with that dictionary and `data_bytes` bytes of data: 0,
// 1, 2, ...
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

TEST_CASE("The NumPy array reader reads numbers of every type",
          "[pipeline][array]") {
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
    UNSCOPED_INFO(c.type << ": " << array.status());
    REQUIRE_THAT(array, IsOk());
    CHECK(array->type.dtype == c.dtype);
    CHECK(proto::SizeOf(array->type.dtype) == c.bytes);
    CHECK(array->type.shape == std::vector<std::uint64_t>{2, 3});
    CHECK(array->type.bytes == 6 * c.bytes);
    REQUIRE(array->items.size() == 6 * c.bytes);
    CHECK(array->items.data() == file.data() + file.size() - 6 * c.bytes);
    CHECK(Describe(array->type) == std::string(c.name) + " (2, 3)");
  }
}

TEST_CASE("A NumPy array's shape may have no axes or no elements",
          "[pipeline][array]") {
  const auto item = ReadArray(File(Dictionary("<f4", "()"), 4));
  REQUIRE_THAT(item, IsOk());
  CHECK(Describe(item->type) == "float32 ()");
  const auto none = ReadArray(File(Dictionary("<f4", "(0, 7)"), 0));
  REQUIRE_THAT(none, IsOk());
  CHECK(none->type.bytes == 0u);
  const auto row = ReadArray(File(Dictionary("<i8", "(1,)", true), 8));
  REQUIRE_THAT(row, IsOk());
  CHECK(Describe(row->type) == "int64 (1,)");
  CHECK(Describe(row->type, 0) == "int64 (n,)");
  CHECK(Describe(none->type, 0) == "float32 (n, 7)");
  CHECK(Describe(none->type, 1) == "float32 (0, n)");
}

TEST_CASE("The NumPy array reader refuses what a batch cannot have",
          "[pipeline][array]") {
  for (const std::string& dictionary :
       {Dictionary("<c8", "(2,)"), Dictionary(">f4", "(2,)"),
        Dictionary("<f4", "(2, 2)", true),
        Dictionary("<f4", "(1, 1, 1, 1, 1, 1)")}) {
    CAPTURE(dictionary);
    CHECK_THAT(ReadArray(File(dictionary, 16)),
               HasCode(absl::StatusCode::kUnimplemented));
  }
  const auto cut = ReadArray(File(Dictionary("<f4", "(5,)"), 16)).status();
  CHECK_THAT(cut, HasCode(absl::StatusCode::kDataLoss));
  CHECK(cut.message() == "is truncated: it has 16 of 20 bytes of data");
  CHECK_THAT(ReadArray({}), HasCode(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace forebay::pipeline
