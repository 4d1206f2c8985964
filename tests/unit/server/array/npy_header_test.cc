#include "server/array/npy_header.h"

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/server/pipeline/decode/golden_values.h"

namespace forebay::array {
namespace {

using pipeline::decode::AsBytes;
using pipeline::decode::GoldenValueFile;
using pipeline::decode::GoldenValues;

constexpr std::string_view kKinds = "biufc";  // NumPy's letters, as NpyKind

TEST(NpyHeaderTest, ReadsAsNumpyDoes) {
  for (const std::vector<std::string>& row : GoldenValues("npy.txt")) {
    const std::string file = GoldenValueFile(row.at(0));
    const auto header = ParseNpyHeader(AsBytes(file));
    if (row.at(1) == "error") {
      // Whether the data are there is for others to check.
      EXPECT_TRUE(!header.ok() ||
                  header->data_bytes > file.size() - header->data_offset)
          << row.at(0);
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
    // The start alone tells how long the header is.
    EXPECT_EQ(*NpyHeaderBytes(AsBytes(file.substr(0, kNpyStartBytes))),
              header->data_offset);
    EXPECT_TRUE(
        ParseNpyHeader(AsBytes(file.substr(0, header->data_offset))).ok());
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

TEST(NpyHeaderTest, ReadsTheIntegersOfPython2) {
  const std::string text =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(text.size());
  file += '\0';
  const auto header = ParseNpyHeader(AsBytes(file + text));
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->shape, (std::vector<std::uint64_t>{2, 3}));
}

TEST(NpyHeaderTest, EveryTruncationIsNoticed) {
  const std::string file = GoldenValueFile("float32.npy");
  const std::uint64_t header = *NpyHeaderBytes(AsBytes(file));
  for (std::size_t length = 0; length < header; ++length) {
    const std::string cut = file.substr(0, length);
    EXPECT_EQ(ParseNpyHeader(AsBytes(cut)).status().code(),
              absl::StatusCode::kDataLoss)
        << length;
    // A file of version 1 says it in ten bytes.
    EXPECT_EQ(NpyHeaderBytes(AsBytes(cut)).ok(), length >= 10) << length;
  }
}

TEST(NpyHeaderTest, RefusesHeadersOfGigabytesWithoutReadingThem) {
  const std::string start("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
  EXPECT_EQ(std::string(NpyHeaderBytes(AsBytes(start)).status().message()),
            "has a .npy header of 4294967295 bytes, of which at most 65536 are "
            "read");
  EXPECT_EQ(ParseNpyHeader(AsBytes(start)).status().code(),
            absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace forebay::array
