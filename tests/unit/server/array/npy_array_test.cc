#include "server/array/npy_array.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "proto/shm_layout.h"
#include "tests/unit/server/pipeline/decode/golden_values.h"

namespace forebay::array {
namespace {

using pipeline::decode::AsBytes;
using pipeline::decode::GoldenValueFile;
using pipeline::decode::GoldenValues;

// Describes the array of a file, or says why no batch can have it.
std::string Reading(const std::string& name) {
  const auto array = ReadNpyArray(AsBytes(GoldenValueFile(name)));
  return array.ok() ? DescribeArray(array->dtype, array->shape)
                    : std::string(array.status().message());
}

TEST(NpyArrayTest, HasTheTypesThatBatchesCanHave) {
  for (const std::string type :
       {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
        "uint64", "float16", "float32", "float64"}) {
    EXPECT_EQ(Reading(type + ".npy"), type + " (2, 3)");
  }
  EXPECT_EQ(Reading("scalar.npy"), "float32 ()");
  EXPECT_EQ(Reading("one_dimension.npy"), "int32 (5,)");
  EXPECT_EQ(Reading("empty.npy"), "float64 (4, 0, 3)");
  EXPECT_EQ(DescribeArray(proto::DType::kBfloat16, {}), "bfloat16 ()");
}

TEST(NpyArrayTest, RefusesOthersByName) {
  EXPECT_EQ(Reading("complex64.npy"),
            "is a .npy file of complex numbers, which cannot be read");
  EXPECT_EQ(Reading("float32_big.npy"),
            "is a big-endian .npy file, of which only little-endian ones can "
            "be read");
  EXPECT_EQ(Reading("fortran.npy"),
            "is a .npy file in Fortran's order, of which only C's can be read");
  EXPECT_EQ(Reading("other_records.npy"),
            "is a .npy file of records, of which only plain numbers can be "
            "read");
  EXPECT_EQ(Reading("no_magic.npy"), "is no .npy file");
}

TEST(NpyArrayTest, SaysWhereItsItemsLie) {
  for (const std::vector<std::string>& row : GoldenValues("npy.txt")) {
    const auto array = ReadNpyArray(AsBytes(GoldenValueFile(row.at(0))));
    if (!array.ok() || row.at(1) == "error") continue;
    EXPECT_EQ(std::to_string(proto::SizeOf(array->dtype)), row.at(2));
    EXPECT_EQ(std::to_string(array->offset), row.at(5));
    EXPECT_EQ(std::to_string(array->bytes), row.at(6));
  }
}

}  // namespace
}  // namespace forebay::array
