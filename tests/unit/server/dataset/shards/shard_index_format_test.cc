#include "server/dataset/shards/shard_index_format.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"

namespace forebay::dataset::shards {
namespace {

std::string Encoded() {
  ShardIndexParts parts;
  parts.fields = {"jpg;png", "cls"};
  parts.names = "a.tarb.tar";
  parts.shards = {{0, 5, 0, 0, 10240, 7, 11, 12},
                  {5, 5, 1, 4, 4096, -8, 13, 14}};
  parts.keys = std::string("\0\2k1\0\1x", 7);
  parts.members = {{1, 100}, {3, 1}, {5, 200}, {1, 2}};
  parts.alternatives = {0, 1};
  auto index = ShardIndex::Create(std::move(parts));
  EXPECT_TRUE(index.ok()) << index.status();
  return EncodeShardIndex(**index);
}

absl::StatusOr<std::shared_ptr<const ShardIndex>> Decode(
    absl::Span<const std::uint8_t> bytes) {
  base::WorkingMemory memory(base::AmpleBudget(), "an index");
  IndexFileReader file(bytes);
  return DecodeShardIndex(file, memory);
}

TEST(ShardIndexFormatTest, GivesBackWhatItWasGiven) {
  const std::string bytes = Encoded();
  const auto index = Decode(AsBytes(bytes));
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(EncodeShardIndex(**index), bytes);
  EXPECT_EQ((*index)->size(), 2u);
  EXPECT_EQ((*index)->ShardAt(1).name, "b.tar");
  EXPECT_EQ((*index)->ShardAt(1).version,
            (storage::ObjectVersion{4096, -8, {13, 14}}));
  EXPECT_EQ((*index)->MemberOf(1, 0).offset, 2560u);
  EXPECT_EQ((*index)->MemberOf(1, 0).alternative, 1u);
  EXPECT_EQ((*index)->fields().fields()[0], "jpg;png");
  EXPECT_EQ((*index)->KeyOf(0), "k1");
  EXPECT_EQ((*index)->KeyOf(1), "x");
}

TEST(ShardIndexFormatTest, FieldsMayHaveBlanks) {
  const std::vector<std::string> fields = {"0 (clean version).txt", "cls"};
  ShardIndexParts parts;
  parts.fields = fields;
  const auto index = ShardIndex::Create(std::move(parts));
  ASSERT_TRUE(index.ok()) << index.status();
  const std::string bytes = EncodeShardIndex(**index);
  const auto decoded = Decode(AsBytes(bytes));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ((*decoded)->fields().fields(), fields);
}

ShardIndexParts GzippedParts() {
  ShardIndexParts parts;
  parts.fields = {"npy;npy.gz", "cls", "txt.gz"};
  parts.names = "a.tar";
  parts.shards = {{0, 5, 0, 0, 10240, 7, 11, 12}};
  parts.keys = std::string("\0\2k1\0\1x", 7);
  parts.members = {{1, 100}, {3, 1}, {5, 20}, {7, 50}, {9, 2}, {11, 30}};
  parts.alternatives = {0, 1};
  parts.inflated = {100, 400, 500, 60};
  return parts;
}

TEST(ShardIndexFormatTest, KeepsWhatMembersInflateTo) {
  const auto index = ShardIndex::Create(GzippedParts());
  ASSERT_TRUE(index.ok()) << index.status();
  const std::string bytes = EncodeShardIndex(**index);
  const auto decoded = Decode(AsBytes(bytes));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(EncodeShardIndex(**decoded), bytes);
  EXPECT_EQ((*decoded)->BytesOf(0, 0), 100);
  EXPECT_EQ((*decoded)->BytesOf(0, 1), 1);
  EXPECT_EQ((*decoded)->BytesOf(0, 2), 400);
  EXPECT_EQ((*decoded)->BytesOf(1, 0), 500);
  EXPECT_EQ((*decoded)->LongestOf(0), 500);
  EXPECT_EQ((*decoded)->ShortestOf(2), 60);
  ShardIndexParts other = GzippedParts();
  other.inflated.pop_back();
  EXPECT_TRUE(absl::IsDataLoss(ShardIndex::Create(std::move(other)).status()));
}

TEST(ShardIndexFormatTest, LayoutIsAsDocumented) {
  const std::string bytes = Encoded();
  EXPECT_EQ(bytes.size(), 72 + 2 * 64 + 4 * 8 + 2 + 10 + 7 + 11 + 16);
  EXPECT_EQ(bytes.substr(0, 8), "FBYSHARD");
  EXPECT_EQ(bytes.substr(8, 16),
            std::string("\5\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16));
  EXPECT_EQ(bytes.substr(72 + 2 * 64, 8), std::string("\1\0\0\0\x64\0\0\0", 8));
  EXPECT_EQ(bytes.substr(72 + 2 * 64 + 4 * 8 + 2, 28),
            std::string("a.tarb.tar\0\2k1\0\1xjpg;png/cls", 28));
}

TEST(ShardIndexFormatTest, EveryFlippedBitIsNoticed) {
  const std::string bytes = Encoded();
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] ^= 1 << bit % 8;
    EXPECT_EQ(Decode(AsBytes(damaged)).status().code(),
              absl::StatusCode::kDataLoss)
        << bit;
  }
}

TEST(ShardIndexFormatTest, EveryOtherLengthIsNoticed) {
  const std::string bytes = Encoded();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(Decode(AsBytes(bytes.substr(0, length))).status().code(),
              absl::StatusCode::kDataLoss);
  }
  EXPECT_FALSE(Decode(AsBytes(bytes + '\0')).ok());
}

}  // namespace
}  // namespace forebay::dataset::shards
