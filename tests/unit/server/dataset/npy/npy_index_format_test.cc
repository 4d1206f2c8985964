#include "server/dataset/npy/npy_index_format.h"

#include <cstring>
#include <string>
#include <vector>

#include "server/dataset/index_file.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::npy {
namespace {

using tests::HasCode;
using tests::IsOk;

std::string Encoded() {
  base::WorkingMemory memory(base::AmpleBudget(), "a test");
  const std::vector<storage::ListedObject> files = {{"a.npy", {152, 1, {5, 6}}},
                                                    {"b/c.npy", {128, 2}}};
  const std::vector<FileRows> rows = {{1, 128}, {0, 128}};
  return EncodeNpyIndex(**NpyIndex::Create(
      files, {.dtype = proto::DType::kFloat32, .shape = {2, 3}}, 24, rows,
      memory));
}

absl::StatusOr<std::shared_ptr<const NpyIndex>> Decode(
    const std::string& bytes) {
  base::WorkingMemory memory(base::AmpleBudget(), "a test");
  IndexFileReader file(absl::MakeConstSpan(
      reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  return DecodeNpyIndex(file, memory);
}

TEST_CASE("The npy index format gives the same index again",
          "[npy][npy_index_format]") {
  const auto index = Decode(Encoded());
  REQUIRE_THAT(index, IsOk());
  CHECK((*index)->size() == 1);
  CHECK((*index)->files() == 2);
  CHECK((*index)->row_bytes() == 24);
  CHECK((*index)->type() ==
        ArrayType{.dtype = proto::DType::kFloat32, .shape = {2, 3}});
  CHECK((*index)->PathOf(1) == "b/c.npy");
  CHECK((*index)->VersionOf(0) == storage::ObjectVersion{152, 1, {5, 6}});
  CHECK(EncodeNpyIndex(**index) == Encoded());
}

TEST_CASE("The npy index format notices damage in each byte",
          "[npy][npy_index_format]") {
  const std::string whole = Encoded();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] ^= 1;
    CHECK_THAT(Decode(damaged), HasCode(absl::StatusCode::kDataLoss));
    CHECK_THAT(Decode(whole.substr(0, i)),
               HasCode(absl::StatusCode::kDataLoss));
  }
}

// The index has a correct checksum, which a forger could compute.
TEST_CASE("A forged npy index leads to no read out of bounds",
          "[npy][npy_index_format]") {
  const std::string whole = Encoded();
  const std::size_t end = whole.size() - kIndexFileChecksumBytes;
  for (std::size_t at = 16; at + 8 <= end; at += 4) {
    for (const std::uint64_t number :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{7},
          std::uint64_t{1} << 63, UINT64_MAX}) {
      std::string other = whole.substr(0, end);
      std::memcpy(other.data() + at, &number, sizeof(number));
      SealIndexFile(other);
      const auto index = Decode(other);
      if (!index.ok()) continue;
      for (std::uint64_t row = 0; row < (*index)->size(); ++row) {
        const NpyIndex::Extent extent = (*index)->ExtentOf(row);
        CHECK(extent.offset + (*index)->row_bytes() <=
              (*index)->VersionOf(extent.file).size);
      }
    }
  }
}

}  // namespace
}  // namespace forebay::dataset::npy
