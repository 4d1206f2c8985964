#include "server/dataset/folder/folder_index_format.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::folder {
namespace {

constexpr std::uint32_t kFormat = 1;

std::string Encoded() {
  FolderIndexParts parts;
  parts.names = "a1.jpg22.pnga/b3.jpg";
  parts.directories.resize(3);
  parts.directories[1] = {0, 1, 0, 0, {1, 2, 3, 4}};
  parts.directories[2] = {12, 3, 0, 2, {5, 6, 7, 8}};
  parts.records.emplace_back(0, 5, 100, 200);
  parts.records.emplace_back(5, 6, 300, -400);
  parts.records.emplace_back(0, 5, 500, 600);
  parts.scanned_at_nanos = 99;
  parts.link_context = 98;
  auto index = FolderIndex::Create(std::move(parts));
  EXPECT_TRUE(index.ok()) << index.status();
  return EncodeFolderIndex(**index, kFormat);
}

absl::StatusOr<std::shared_ptr<const FolderIndex>> Decode(
    const std::string& bytes, std::uint32_t format = kFormat) {
  base::WorkingMemory memory(base::AmpleBudget(), "an index");
  IndexFileReader file(absl::MakeConstSpan(
      reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  return DecodeFolderIndex(file, format, memory);
}

TEST(FolderIndexFormatTest, GivesBackWhatItWasGiven) {
  const auto index = Decode(Encoded());
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(EncodeFolderIndex(**index, kFormat), Encoded());
  EXPECT_EQ((*index)->parts().scanned_at_nanos, 99);
  EXPECT_EQ((*index)->parts().link_context, 98);
  EXPECT_EQ((*index)->parts().directories[2].stamp,
            (DirectoryStamp{5, 6, 7, 8}));
  ASSERT_EQ((*index)->size(), 3);
  EXPECT_EQ((*index)->At(1).object, "a/22.png");
  EXPECT_EQ((*index)->At(1).version.stamp, -400);
  EXPECT_EQ((*index)->At(2).object, "a/b/3.jpg");
  EXPECT_EQ((*index)->At(2).length, 500);
}

TEST(FolderIndexFormatTest, LayoutIsAsDocumented) {
  const std::string bytes = Encoded();
  EXPECT_EQ(bytes.size(), 64 + 3 * 56 + 3 * 20 + 20 + 16);
  EXPECT_EQ(bytes.substr(0, 8), "FBYINDEX");
  EXPECT_EQ(bytes.substr(8, 8), std::string("\1\0\0\0\1\0\0\0", 8));
  EXPECT_EQ(bytes.substr(32, 8), std::string("\3\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(64 + 3 * 56 + 3 * 20, 20), "a1.jpg22.pnga/b3.jpg");
}

TEST(FolderIndexFormatTest, EveryFlippedBitIsNoticed) {
  const std::string bytes = Encoded();
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] ^= 1 << bit % 8;
    EXPECT_EQ(Decode(damaged).status().code(), absl::StatusCode::kDataLoss)
        << bit;
  }
}

TEST(FolderIndexFormatTest, EveryOtherLengthIsNoticed) {
  const std::string bytes = Encoded();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(Decode(bytes.substr(0, length)).status().code(),
              absl::StatusCode::kDataLoss);
  }
  EXPECT_FALSE(Decode(bytes + '\0').ok());
  EXPECT_FALSE(Decode(bytes + bytes).ok());
}

TEST(FolderIndexFormatTest, AnotherDatasetFormatIsRefused) {
  EXPECT_EQ(Decode(Encoded(), kFormat + 1).status().code(),
            absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace forebay::dataset::folder
