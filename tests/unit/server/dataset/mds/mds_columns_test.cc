#include "server/dataset/mds/mds_columns.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::dataset::mds {
namespace {

using tests::HasCode;
using tests::IsOk;

using proto::DType;
using proto::FieldKind;

absl::Span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string Configuration(std::string_view encoding, std::string_view size) {
  return absl::StrCat(
      R"({"format": "mds", "version": 2, "column_names": ["a"], )",
      R"("column_encodings": [")", std::string(encoding),
      R"("], "column_sizes": [)", std::string(size), "]}");
}

MdsColumn Only(std::string_view encoding, std::string_view size = "null") {
  auto columns = ParseColumns(Configuration(encoding, size));
  CHECK_THAT(columns, IsOk());
  return columns->front();
}

TEST_CASE("The parser of MDS columns reads each encoding",
          "[mds][mds_columns]") {
  CHECK(Only("jpeg").kind == FieldKind::kImage);
  CHECK(Only("jpeg:95").kind == FieldKind::kImage);
  CHECK(Only("png").kind == FieldKind::kImage);
  CHECK(Only("str").kind == FieldKind::kText);
  CHECK(Only("bytes").kind == FieldKind::kBytes);
  CHECK(Only("json").kind == FieldKind::kJson);
  CHECK(Only("int", "8").kind == FieldKind::kLabel);
  CHECK(Only("int", "8").size == 8);
  CHECK_FALSE(Only("int", "8").in_digits);
  CHECK(Only("str_int").in_digits);
  CHECK(Only("float32", "4").array == ArrayEncoding{DType::kFloat32, {{}}});
  CHECK(Only("ndarray").array == ArrayEncoding());
  CHECK(Only("ndarray:int8").array->dtype == DType::kInt8);
  CHECK(Only("ndarray:uint16:2,3", "12").array ==
        ArrayEncoding{DType::kUint16, {{2, 3}}});
}

TEST_CASE("The parser of MDS columns passes over unknown encodings",
          "[mds][mds_columns]") {
  for (const char* const encoding :
       {"pkl", "pil", "jpeg_array", "", "ndarray:float33", "ndarray::3",
        "ndarray:int8:0", "ndarray:int8:3,", "ndarray:int8:3:4",
        "ndarray:int8:1099511627776,2", "ndarray:int8:1,1,1,1,1,1"}) {
    CAPTURE(encoding);
    CHECK(Only(encoding).kind == FieldKind::kSampleId);
  }
}

TEST_CASE(
    "The parser of MDS columns refuses malformed and unsupported "
    "configurations",
    "[mds][mds_columns]") {
  for (const std::string& json :
       {std::string(), std::string("{}"), std::string("[1]"),
        Configuration("int", "-1"), Configuration("int", "4294967296"),
        Configuration("int", "\"8\""), Configuration("int", "8, 8"),
        Configuration("int\", \"int", "8"),
        std::string(R"({"format": "mds", "version": 2, "column_names": [], )"
                    R"("column_encodings": [], "column_sizes": []})")}) {
    CAPTURE(json);
    CHECK_THAT(ParseColumns(json), HasCode(absl::StatusCode::kDataLoss));
  }
  const std::string twice =
      R"({"format": "mds", "version": 2, "column_names": ["a", "a"], )"
      R"("column_encodings": ["str", "str"], "column_sizes": [null, null]})";
  CHECK_THAT(ParseColumns(twice), HasCode(absl::StatusCode::kDataLoss));
  std::string other = Configuration("int", "8");
  other.replace(other.find('2'), 1, "3");
  CHECK_THAT(ParseColumns(other), HasCode(absl::StatusCode::kUnimplemented));
  // A version with deep nesting is refused without recursion.
  const std::string deep =
      absl::StrCat(R"({"format": "mds", "version": )",
                   std::string(500'000, '['), std::string(500'000, ']'), "}");
  CHECK_FALSE(ParseColumns(deep).ok());
}

MdsColumn Named(std::string name, std::uint32_t size) {
  MdsColumn column;
  column.name = std::move(name);
  column.size = size;
  return column;
}

TEST_CASE("An MDS sample is split into its columns", "[mds][mds_columns]") {
  const std::vector<MdsColumn> columns = {Named("a", 0), Named("b", 2),
                                          Named("c", 0)};
  const std::string sample("\3\0\0\0\1\0\0\0aaabbc", 14);
  std::vector<FieldRange> parts(3);
  REQUIRE_THAT(SplitSample(columns, AsBytes(sample), absl::MakeSpan(parts)),
               IsOk());
  CHECK(sample.substr(parts[0].offset, parts[0].length) == "aaa");
  CHECK(sample.substr(parts[1].offset, parts[1].length) == "bb");
  CHECK(sample.substr(parts[2].offset, parts[2].length) == "c");
  for (std::size_t length = 0; length < sample.size(); ++length) {
    CHECK_THAT(SplitSample(columns, AsBytes(sample.substr(0, length)),
                           absl::MakeSpan(parts)),
               HasCode(absl::StatusCode::kDataLoss));
  }
  CHECK(SplitSample(columns, AsBytes(sample + "x"), absl::MakeSpan(parts)) ==
        absl::DataLossError("has 1 bytes behind its columns"));
}

TEST_CASE("The reader of MDS arrays reads arrays with and without headers",
          "[mds][mds_columns]") {
  const std::string elements("\1\0\2\0\3\0\4\0", 8);
  const struct {
    ArrayEncoding encoding;
    std::string header;
  } cases[] = {
      {{DType::kInt16, {{2, 2}}}, ""},
      {{DType::kInt16, {}}, std::string("\x08\2\2", 3)},
      {{DType::kInt16, {}}, std::string("\x09\2\0\2\0", 5)},
      {{{}, {{2, 2}}}, "\x11"},
      {{{}, {}}, std::string("\x11\x0b\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 18)},
  };
  for (const auto& one : cases) {
    const std::string part = one.header + elements;
    const auto array = ReadArrayPart(one.encoding, AsBytes(part));
    REQUIRE_THAT(array, IsOk());
    CHECK(array->type == ArrayType{DType::kInt16, {2, 2}});
    CHECK(array->elements == AsBytes(part).subspan(one.header.size()));
    for (std::size_t length = 0; length < part.size(); ++length) {
      const auto cut = part.substr(0, length);
      CHECK_THAT(ReadArrayPart(one.encoding, AsBytes(cut)),
                 HasCode(absl::StatusCode::kDataLoss));
    }
  }
}

TEST_CASE("The reader of MDS arrays refuses arrays of invalid shapes",
          "[mds][mds_columns]") {
  for (const std::string& part :
       {std::string("\x00\1", 2), std::string("\x04\0", 2),
        std::string("\x18\1\1\1\1\1\1\1", 8),
        std::string("\x07\xff\xff\xff\xff\xff\xff\xff\xff", 9),
        std::string("\x0b\0\0\0\0\0\0\0\x80\2\0\0\0\0\0\0\0", 17)}) {
    CHECK_THAT(ReadArrayPart({DType::kUint8, {}}, AsBytes(part)),
               HasCode(absl::StatusCode::kDataLoss));
  }
  CHECK_THAT(ReadArrayPart({}, AsBytes("\x07x")),
             HasCode(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace forebay::dataset::mds
