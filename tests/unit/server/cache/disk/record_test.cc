#include "server/cache/disk/record.h"

#include <cstring>
#include <string>
#include <vector>

#include "tests/catch/catch.h"

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

TEST_CASE("A disk record's front says what its data are", "[disk][record]") {
  const std::vector<std::uint8_t> bytes = FrontOf(kKey);
  const auto header = ParseRecordHeader(bytes, kSerial);
  REQUIRE(header.has_value());
  CHECK(header->key == kKey);
  CHECK(header->fingerprint == FingerprintOf(kKey));
  CHECK(header->bytes == bytes.size());
  CHECK(header->data_crc == 0xf130f21e);  // of the bytes 1, 2, 3
  CHECK(RecordBytes(kKey) == RoundUp(bytes.size() + 3, kRecordAlignment));
}

// Later versions must find the records that this version wrote.
TEST_CASE("Fingerprints of disk record keys stay the same in later versions",
          "[disk][record]") {
  CHECK(FingerprintOf(kKey) == 1410214722200169892u);
}

TEST_CASE("The disk record parser overlooks no flipped bit and no missing byte",
          "[disk][record]") {
  std::vector<std::uint8_t> bytes = FrontOf(kKey);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= 1u << bit % 8;
    CAPTURE(bit);
    CHECK_FALSE(ParseRecordHeader(bytes, kSerial).has_value());
    bytes[bit / 8] ^= 1u << bit % 8;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(
        ParseRecordHeader(absl::MakeConstSpan(bytes).first(size), kSerial)
            .has_value());
  }
  CHECK(ParseRecordHeader(bytes, kSerial).has_value());
  CHECK_FALSE(ParseRecordHeader(bytes, kSerial + 1).has_value());
}

TEST_CASE("Disk record keys that differ in anything are different",
          "[disk][record]") {
  const std::vector<Key> others = {
      {"gs://bucket/c", "lass a/ü.jpg", kKey.version, 17, 3},
      {kKey.root, "class a/u.jpg", kKey.version, 17, 3},
      {kKey.root, kKey.object, {1'000'001, -5}, 17, 3},
      {kKey.root, kKey.object, {1'000'000, -6}, 17, 3},
      {kKey.root, kKey.object, kKey.version, 18, 3},
      {kKey.root, kKey.object, kKey.version, 17, 4},
  };
  for (const Key& other : others) {
    CHECK_FALSE(other == kKey);
    CHECK(FingerprintOf(other) != FingerprintOf(kKey));
  }
}

TEST_CASE("Empty or huge data and overlong names do not fit a disk record",
          "[disk][record]") {
  CHECK(Fits(kKey));
  Key key = kKey;
  key.length = 0;
  CHECK_FALSE(Fits(key));
  key.length = std::uint64_t{1} << 32;
  CHECK_FALSE(Fits(key));
  key.length = 1;
  const std::string name(kMaxNameBytes - key.root.size(), 'n');
  key.object = name;
  CHECK(Fits(key));
  key.root = "gs://bucket/d";
  CHECK_FALSE(Fits(key));
}

}  // namespace
}  // namespace forebay::cache::disk
