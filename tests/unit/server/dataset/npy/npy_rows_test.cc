#include "server/dataset/npy/npy_rows.h"

#include <cstdint>
#include <string>
#include <vector>

#include "proto/shm_layout.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/npy/npy_file.h"
#include "tests/unit/server/pipeline/decode/golden_values.h"

namespace forebay::dataset::npy {
namespace {

using tests::HasCode;
using tests::IsOk;

using pipeline::decode::GoldenValueFile;
using pipeline::decode::GoldenValues;
using proto::DType;

absl::StatusOr<NpyRows> Rows(const std::string& file) {
  return ReadNpyRows(AsBytes(file), file.size());
}

std::string Refusal(const std::string& file, absl::StatusCode code) {
  const absl::Status status = Rows(file).status();
  CHECK_THAT(status, HasCode(code));
  return std::string(status.message());
}

std::string Unsupported(const std::string& file) {
  return Refusal(file, absl::StatusCode::kUnimplemented);
}

std::string Damaged(const std::string& file) {
  return Refusal(file, absl::StatusCode::kDataLoss);
}

TEST_CASE("An npy file's rows are what lies along its first axis",
          "[npy][npy_rows]") {
  struct Case {
    const char* type;
    const char* shape;
    NpyRows rows;
  };
  for (const Case& c :
       std::vector<Case>{{"<f4", "(7,)", {{DType::kFloat32, {}}, 4, 7}},
                         {"|b1", "(2, 3)", {{DType::kBool, {3}}, 3, 2}},
                         {"<i8",
                          "(1, 2, 3, 4, 5, 6)",
                          {{DType::kInt64, {2, 3, 4, 5, 6}}, 5760, 1}},
                         {"<u2", "(0, 5)", {{DType::kUint16, {5}}, 10, 0}},
                         {"<f2", "(0,)", {{DType::kFloat16, {}}, 2, 0}}}) {
    const std::string file =
        NpyFile(c.type, c.shape, c.rows.count * c.rows.row_bytes);
    const auto rows = Rows(file);
    UNSCOPED_INFO(c.shape << ": " << rows.status());
    REQUIRE_THAT(rows, IsOk());
    NpyRows expected = c.rows;
    expected.data_offset = file.size() - c.rows.count * c.rows.row_bytes;
    CAPTURE(c.shape);
    CHECK(*rows == expected);
  }
}

// Rows of npy.txt are FILE KIND ITEM_BYTES BIG_ENDIAN FORTRAN_ORDER DATA_OFFSET
// DATA_BYTES EXTENT..., or FILE error.
TEST_CASE("NumPy's npy files are read as NumPy reads them", "[npy][npy_rows]") {
  int read = 0;
  for (const std::vector<std::string>& row : GoldenValues("npy.txt")) {
    const std::string file = GoldenValueFile(row.at(0));
    const auto rows = Rows(file);
    if (row.at(1) == "error" || row.at(1) == "c" || row.at(3) == "1" ||
        row.at(4) == "1" || row.size() == 7 || row.at(0) == "empty.npy") {
      UNSCOPED_INFO(row.at(0));
      CHECK_FALSE(rows.ok());
      continue;
    }
    // NumPy ignores bytes after the data, and Forebay refuses them.
    if (std::stoull(row.at(5)) + std::stoull(row.at(6)) != file.size()) {
      CHECK_THAT(rows, HasCode(absl::StatusCode::kDataLoss));
      continue;
    }
    UNSCOPED_INFO(row.at(0) << ": " << rows.status());
    REQUIRE_THAT(rows, IsOk());
    CHECK(std::to_string(rows->data_offset) == row.at(5));
    CHECK(std::to_string(rows->count * rows->row_bytes) == row.at(6));
    CHECK(std::to_string(rows->count) == row.at(7));
    UNSCOPED_INFO(row.at(0));
    REQUIRE(rows->type.shape.size() + 8 == row.size());
    for (std::size_t i = 8; i < row.size(); ++i)
      CHECK(std::to_string(rows->type.shape[i - 8]) == row[i]);
    ++read;
  }
  CHECK(read > 12);
}

TEST_CASE("The reader of npy rows refuses arrays that a batch cannot have",
          "[npy][npy_rows]") {
  CHECK(Unsupported(NpyFile("<f4", "()", 4)) ==
        "is a .npy file of a single value, which has no rows");
  CHECK(Unsupported(NpyFile("|u1", "(1, 1, 1, 1, 1, 1, 1)", 1)) ==
        "is a .npy file of 7 dimensions, of which at most 6 can be read");
  CHECK(Unsupported(NpyFile("<f4", "(2, 2)", 16, /*fortran=*/true)) ==
        "is a .npy file in Fortran's order, of which only C's can be read");
  CHECK(Unsupported(NpyFile(">f4", "(2, 2)", 16)) ==
        "is a big-endian .npy file, of which only little-endian ones can "
        "be read");
  CHECK(Unsupported(NpyFile("<c8", "(2,)", 16)) ==
        "is a .npy file of complex numbers, which cannot be read");
  CHECK(Unsupported(NpyFile("|O", "(2,)", 16)) ==
        "is a .npy file of items of the type \"|O\", of which only plain "
        "numbers can be read");
  CHECK(
      Unsupported(NpyFileOf("{'descr': [('a', '<f4')], 'fortran_order': False, "
                            "'shape': (1,), }",
                            "0123")) ==
      "is a .npy file of records, of which only plain numbers can be "
      "read");
}

// A file without data might claim any number of such rows.
TEST_CASE("The reader of npy rows refuses rows without elements",
          "[npy][npy_rows]") {
  CHECK(Unsupported(NpyFile("<f4", "(3, 0)", 0)) ==
        "has rows without elements: its shape is (3, 0)");
  CHECK(Unsupported(NpyFile("|u1", "(4611686018427387904, 0)", 0)) ==
        "has rows without elements: its shape is (4611686018427387904, 0)");
  Unsupported(NpyFile("<f4", "(0, 0)", 0));
}

TEST_CASE("The reader of npy rows refuses shapes that overflow",
          "[npy][npy_rows]") {
  for (const char* shape :
       {"(9223372036854775808,)", "(18446744073709551615,)",
        "(18446744073709551616,)", "(4294967296, 4294967296)",
        "(2, 9223372036854775808)", "(0, 9223372036854775808)",
        "(0, 4294967296, 4294967296)", "(-1,)", "(3)", "[3]", "(3,, 1)"}) {
    CAPTURE(shape);
    CHECK(Damaged(NpyFile("<f4", shape, 16)) == "has a damaged .npy header");
  }
  // The size does not overflow, but no file is so large.
  CHECK(Damaged(NpyFile("|u1", "(4611686018427387904,)", 8)) ==
        "is truncated: it has 8 of 4611686018427387904 bytes of data");
}

TEST_CASE("An npy file has its rows and nothing else", "[npy][npy_rows]") {
  const std::string file = NpyFile("<i4", "(3, 2)", 24);
  CHECK(Damaged(file.substr(0, file.size() - 1)) ==
        "is truncated: it has 23 of 24 bytes of data");
  CHECK(Damaged(file + "ab") == "has 2 bytes behind its last row");
  CHECK(Damaged(NpyFile("<i4", "(0, 2)", 8)) ==
        "has 8 bytes behind its last row");
  CHECK(Damaged("") == "is not a .npy file");
  CHECK(Damaged("PK\x03\x04, a .npz file") == "is not a .npy file");
  for (std::size_t length = 0; length < file.size(); ++length)
    Damaged(file.substr(0, length));
}

TEST_CASE("The reader of npy rows needs the header but not the data",
          "[npy][npy_rows]") {
  const std::string file = NpyFile("<i4", "(3, 2)", 24);
  const auto rows =
      ReadNpyRows(AsBytes(file.substr(0, file.size() - 24)), file.size());
  REQUIRE_THAT(rows, IsOk());
  CHECK(rows->count == 3u);
}

}  // namespace
}  // namespace forebay::dataset::npy
