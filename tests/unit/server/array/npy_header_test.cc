#include "server/array/npy_header.h"

#include <string>
#include <string_view>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/decode/golden_values.h"

namespace forebay::array {
namespace {

using tests::HasCode;
using tests::IsOk;

using pipeline::decode::AsBytes;
using pipeline::decode::GoldenValueFile;
using pipeline::decode::GoldenValues;

// NumPy's letters, in NpyKind's order.
constexpr std::string_view kKinds = "biufc";

TEST_CASE("The .npy header parser reads headers as NumPy does",
          "[array][npy_header]") {
  for (const std::vector<std::string>& row : GoldenValues("npy.txt")) {
    const std::string file = GoldenValueFile(row.at(0));
    const auto header = ParseNpyHeader(AsBytes(file));
    if (row.at(1) == "error") {
      // A header may be valid although the file lacks some of its data, because
      // the parser does not check the data.
      UNSCOPED_INFO(row.at(0));
      CHECK((!header.ok() ||
             header->data_bytes > file.size() - header->data_offset));
      continue;
    }
    UNSCOPED_INFO(row.at(0) << ": " << header.status());
    REQUIRE_THAT(header, IsOk());
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
    CHECK(found == row);
    // The first kNpyStartBytes bytes alone tell how long the header is.
    CHECK(*NpyHeaderBytes(AsBytes(file.substr(0, kNpyStartBytes))) ==
          header->data_offset);
    CHECK_THAT(ParseNpyHeader(AsBytes(file.substr(0, header->data_offset))),
               IsOk());
  }
}

TEST_CASE("The .npy header parser refuses other types by name",
          "[array][npy_header]") {
  for (const char* name :
       {"records", "string", "bytes", "time", "long_float"}) {
    const std::string file =
        GoldenValueFile(std::string("other_") + name + ".npy");
    CAPTURE(name);
    CHECK_THAT(ParseNpyHeader(AsBytes(file)),
               HasCode(absl::StatusCode::kUnimplemented));
  }
  const std::string file = GoldenValueFile("other_time.npy");
  CHECK(std::string(ParseNpyHeader(AsBytes(file)).status().message()) ==
        "is a .npy file of items of the type \"<M8[s]\", of which only "
        "plain numbers can be read");
}

TEST_CASE("The .npy header parser reads the integers of Python 2",
          "[array][npy_header]") {
  const std::string text =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(text.size());
  file += '\0';
  const auto header = ParseNpyHeader(AsBytes(file + text));
  REQUIRE_THAT(header, IsOk());
  CHECK(header->shape == std::vector<std::uint64_t>{2, 3});
}

TEST_CASE("The .npy header parser notices every truncation",
          "[array][npy_header]") {
  const std::string file = GoldenValueFile("float32.npy");
  const std::uint64_t header = *NpyHeaderBytes(AsBytes(file));
  for (std::size_t length = 0; length < header; ++length) {
    const std::string cut = file.substr(0, length);
    CAPTURE(length);
    CHECK_THAT(ParseNpyHeader(AsBytes(cut)),
               HasCode(absl::StatusCode::kDataLoss));
    // A file of version 1 tells its header's length in the first ten bytes.
    CHECK(NpyHeaderBytes(AsBytes(cut)).ok() == (length >= 10));
  }
}

TEST_CASE(
    "The .npy header parser refuses headers of gigabytes without reading them",
    "[array][npy_header]") {
  const std::string start("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
  CHECK(std::string(NpyHeaderBytes(AsBytes(start)).status().message()) ==
        "has a .npy header of 4294967295 bytes, of which at most 65536 are "
        "read");
  CHECK_THAT(ParseNpyHeader(AsBytes(start)),
             HasCode(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace forebay::array
