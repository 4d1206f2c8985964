#include "server/cache/disk/record.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace forebay::cache::disk {
namespace {

constexpr std::uint64_t kSerial = 7;
constexpr std::uint8_t kData[] = {1, 2, 3};
const Key kKey = {.root = "gs://bucket/",
                  .object = "class a/ü.jpg",
                  .version = {1'000'000, -5},
                  .offset = 17,
                  .length = 3};

std::vector<std::uint8_t> FrontOf(const Key& key) {
  const std::string header = EncodeRecordHeader(key, kSerial, kData);
  return {header.begin(), header.end()};
}

TEST(RecordTest, AFrontSaysWhatItsDataAre) {
  const std::vector<std::uint8_t> bytes = FrontOf(kKey);
  const auto header = ParseRecordHeader(bytes, kSerial);
  ASSERT_TRUE(header.has_value());
  EXPECT_TRUE(header->key == kKey);
  EXPECT_EQ(header->fingerprint, FingerprintOf(kKey));
  EXPECT_EQ(header->bytes, bytes.size());
  EXPECT_EQ(header->data_crc, 0xf130f21e);  // of 1, 2, 3
  EXPECT_EQ(RecordBytes(kKey), RoundUp(bytes.size() + 3, kRecordAlignment));
}

// Every later version must find the records of this one.
TEST(RecordTest, FingerprintsStayTheSame) {
  EXPECT_EQ(FingerprintOf(kKey), 1410214722200169892u);
}

TEST(RecordTest, NoFlippedBitAndNoMissingByteIsOverlooked) {
  std::vector<std::uint8_t> bytes = FrontOf(kKey);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= 1u << bit % 8;
    EXPECT_FALSE(ParseRecordHeader(bytes, kSerial).has_value()) << bit;
    bytes[bit / 8] ^= 1u << bit % 8;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(
        ParseRecordHeader(absl::MakeConstSpan(bytes).first(size), kSerial)
            .has_value())
        << size;
  }
  EXPECT_TRUE(ParseRecordHeader(bytes, kSerial).has_value());
  EXPECT_FALSE(ParseRecordHeader(bytes, kSerial + 1).has_value());
}

TEST(RecordTest, KeysThatDifferInAnythingAreDifferent) {
  const std::vector<Key> others = {
      {"gs://bucket/c", "lass a/ü.jpg", kKey.version, 17, 3},
      {kKey.root, "class a/u.jpg", kKey.version, 17, 3},
      {kKey.root, kKey.object, {1'000'001, -5}, 17, 3},
      {kKey.root, kKey.object, {1'000'000, -6}, 17, 3},
      {kKey.root, kKey.object, kKey.version, 18, 3},
      {kKey.root, kKey.object, kKey.version, 17, 4},
  };
  for (const Key& other : others) {
    EXPECT_FALSE(other == kKey);
    EXPECT_NE(FingerprintOf(other), FingerprintOf(kKey));
  }
}

TEST(RecordTest, NotEverythingFits) {
  EXPECT_TRUE(Fits(kKey));
  Key key = kKey;
  key.length = 0;
  EXPECT_FALSE(Fits(key));
  key.length = std::uint64_t{1} << 32;
  EXPECT_FALSE(Fits(key));
  key.length = 1;
  const std::string name(kMaxNameBytes - key.root.size(), 'n');
  key.object = name;
  EXPECT_TRUE(Fits(key));
  key.root = "gs://bucket/d";
  EXPECT_FALSE(Fits(key));
}

}  // namespace
}  // namespace forebay::cache::disk
