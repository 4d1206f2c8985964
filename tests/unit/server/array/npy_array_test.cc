#include "server/array/npy_array.h"

#include <string>
#include <vector>

#include "proto/shm_layout.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/pipeline/decode/golden_values.h"

namespace forebay::array {
namespace {

using pipeline::decode::AsBytes;
using pipeline::decode::GoldenValueFile;
using pipeline::decode::GoldenValues;

// Describes the array of a file, or returns why a batch cannot have it.
std::string Reading(const std::string& name) {
  const auto array = ReadNpyArray(AsBytes(GoldenValueFile(name)));
  return array.ok() ? DescribeArray(array->dtype, array->shape)
                    : std::string(array.status().message());
}

TEST_CASE("A .npy array has the types that batches can have",
          "[array][npy_array]") {
  for (const std::string type :
       {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
        "uint64", "float16", "float32", "float64"}) {
    CHECK(Reading(type + ".npy") == type + " (2, 3)");
  }
  CHECK(Reading("scalar.npy") == "float32 ()");
  CHECK(Reading("one_dimension.npy") == "int32 (5,)");
  CHECK(Reading("empty.npy") == "float64 (4, 0, 3)");
  CHECK(DescribeArray(proto::DType::kBfloat16, {}) == "bfloat16 ()");
}

TEST_CASE(
    "The .npy array reader refuses other arrays by the name of their kind",
    "[array][npy_array]") {
  CHECK(Reading("complex64.npy") ==
        "is a .npy file of complex numbers, which cannot be read");
  CHECK(Reading("float32_big.npy") ==
        "is a big-endian .npy file, of which only little-endian ones can "
        "be read");
  CHECK(Reading("fortran.npy") ==
        "is a .npy file in Fortran's order, of which only C's can be read");
  CHECK(Reading("other_records.npy") ==
        "is a .npy file of records, of which only plain numbers can be "
        "read");
  CHECK(Reading("no_magic.npy") == "is not a .npy file");
}

TEST_CASE("A .npy array says where its items lie", "[array][npy_array]") {
  for (const std::vector<std::string>& row : GoldenValues("npy.txt")) {
    const auto array = ReadNpyArray(AsBytes(GoldenValueFile(row.at(0))));
    if (!array.ok() || row.at(1) == "error") continue;
    CHECK(std::to_string(proto::SizeOf(array->dtype)) == row.at(2));
    CHECK(std::to_string(array->offset) == row.at(5));
    CHECK(std::to_string(array->bytes) == row.at(6));
  }
}

}  // namespace
}  // namespace forebay::array
