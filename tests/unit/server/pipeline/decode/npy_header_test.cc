#include "server/pipeline/decode/npy_header.h"

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/server/pipeline/decode/golden_values.h"

namespace forebay::pipeline::decode {
namespace {

constexpr std::string_view kKinds = "biufc";  // NumPy's letters, as NpyKind

TEST(NpyHeaderTest, ReadsAsNumpyDoes) {
  for (const std::vector<std::string>& row : GoldenValues("npy.txt")) {
    const std::string file = GoldenValueFile(row.at(0));
    const auto header = ParseNpyHeader(AsBytes(file));
    if (row.at(1) == "error") {
      EXPECT_FALSE(header.ok()) << row.at(0);
      continue;
    }
    ASSERT_TRUE(header.ok()) << row.at(0) << ": " << header.status();
    std::vector<std::string> found = {
        row.at(0),
        std::string(1, kKinds[static_cast<std::size_t>(header->kind)]),
        std::to_string(header->item_bytes),
        header->big_endian ? "1" : "0",
        header->fortran_order ? "1" : "0",
        std::to_string(header->data_offset),
        std::to_string(header->data_bytes)};
    for (const std::uint64_t extent : header->shape) {
      found.push_back(std::to_string(extent));
    }
    EXPECT_EQ(found, row);
  }
}

TEST(NpyHeaderTest, RefusesOtherTypesByName) {
  for (const char* name :
       {"records", "string", "bytes", "time", "long_float"}) {
    const std::string file =
        GoldenValueFile(std::string("other_") + name + ".npy");
    EXPECT_EQ(ParseNpyHeader(AsBytes(file)).status().code(),
              absl::StatusCode::kUnimplemented)
        << name;
  }
  const std::string file = GoldenValueFile("other_time.npy");
  EXPECT_EQ(std::string(ParseNpyHeader(AsBytes(file)).status().message()),
            "is a .npy file of items of the type \"<M8[s]\", of which only "
            "plain numbers can be read");
}

TEST(NpyHeaderTest, EveryTruncationIsNoticed) {
  const std::string file = GoldenValueFile("float32.npy");
  for (std::size_t length = 0; length < file.size(); ++length) {
    EXPECT_EQ(ParseNpyHeader(AsBytes(file.substr(0, length))).status().code(),
              absl::StatusCode::kDataLoss)
        << length;
  }
}

}  // namespace
}  // namespace forebay::pipeline::decode
