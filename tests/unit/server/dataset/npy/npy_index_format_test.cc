#include "server/dataset/npy/npy_index_format.h"

#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dataset/index_file.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::npy {
namespace {

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

TEST(NpyIndexFormatTest, GivesTheSameIndexAgain) {
  const auto index = Decode(Encoded());
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ((*index)->size(), 1);
  EXPECT_EQ((*index)->files(), 2);
  EXPECT_EQ((*index)->row_bytes(), 24);
  EXPECT_EQ((*index)->type(),
            (ArrayType{.dtype = proto::DType::kFloat32, .shape = {2, 3}}));
  EXPECT_EQ((*index)->PathOf(1), "b/c.npy");
  EXPECT_EQ((*index)->VersionOf(0), (storage::ObjectVersion{152, 1, {5, 6}}));
  EXPECT_EQ(EncodeNpyIndex(**index), Encoded());
}

TEST(NpyIndexFormatTest, NoticesDamageInEachByte) {
  const std::string whole = Encoded();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] ^= 1;
    EXPECT_EQ(Decode(damaged).status().code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(Decode(whole.substr(0, i)).status().code(),
              absl::StatusCode::kDataLoss);
  }
}

// Somebody wrote the checksum for it.
TEST(NpyIndexFormatTest, NoIndexLeadsOutOfBounds) {
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
        EXPECT_LE(extent.offset + (*index)->row_bytes(),
                  (*index)->VersionOf(extent.file).size);
      }
    }
  }
}

}  // namespace
}  // namespace forebay::dataset::npy
