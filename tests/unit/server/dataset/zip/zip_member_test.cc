#include "server/dataset/zip/zip_member.h"

#include <openssl/sha.h>
#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/dataset/zip/golden_archives.h"
#include "tests/unit/server/dataset/zip/made_archive.h"

namespace forebay::dataset::zip {
namespace {

using testing::HasSubstr;

std::string Sha256(const std::string& bytes) {
  std::uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA256(AsBytes(bytes).data(), bytes.size(), digest);
  std::string hex;
  for (const std::uint8_t byte : digest) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return hex;
}

// Returns `bytes` deflated, without any header.
std::string Deflated(const std::string& bytes, int level = 9) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, -MAX_WBITS, 8,
                         Z_DEFAULT_STRATEGY),
            Z_OK);
  std::string deflated(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = const_cast<Bytef*>(AsBytes(bytes).data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(deflated.data());
  stream.avail_out = static_cast<uInt>(deflated.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  deflated.resize(stream.total_out);
  deflateEnd(&stream);
  return deflated;
}

// Inflates into memory of that length, and checks that the bytes behind stay.
absl::StatusOr<std::string> Inflated(std::string_view compressed,
                                     std::size_t length) {
  std::vector<std::uint8_t> out(length + 16, 0xa5);
  const absl::Status status =
      Inflate(AsBytes(compressed), absl::MakeSpan(out).first(length));
  for (std::size_t i = length; i < out.size(); ++i) EXPECT_EQ(out[i], 0xa5);
  if (!status.ok()) return status;
  return std::string(out.begin(), out.begin() + length);
}

void ExpectDamaged(const absl::Status& status, std::string_view reason) {
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(reason)));
}

// Bytes that take as much as they have.
std::string Noise(std::size_t length) {
  std::string noise;
  for (std::uint32_t seed = 1; noise.size() < length;) {
    seed = seed * 1664525 + 1013904223;
    noise += static_cast<char>(seed >> 24);
  }
  return noise;
}

TEST(ZipMemberTest, ReadsWhatZipfileReads) {
  for (const GoldenArchive& golden : GoldenArchives()) {
    const std::string archive = GoldenFile(golden.name);
    for (const GoldenMember& expected : golden.members) {
      const ZipMember& member = expected.member;
      const auto offset =
          DataOffset(member.name, AsBytes(std::string_view(archive).substr(
                                      member.header_offset - golden.base)));
      ASSERT_TRUE(offset.ok()) << offset.status();
      EXPECT_EQ(member.header_offset + *offset, expected.data_offset);
      const auto content = Content(archive, member, golden.base);
      ASSERT_TRUE(content.ok()) << content.status();
      EXPECT_EQ(content->size(), member.length);
      EXPECT_EQ(Sha256(*content), expected.sha256) << member.name;
    }
  }
}

TEST(ZipMemberTest, DataMayLieBeyondTheBytes) {
  const std::string header = MadeHeader("name", std::string(65535, 'x'));
  for (const std::size_t length : {std::size_t{34}, header.size()}) {
    const auto offset =
        DataOffset("name", AsBytes(std::string_view(header).substr(0, length)));
    ASSERT_TRUE(offset.ok()) << offset.status();
    EXPECT_EQ(*offset, 34u + 65535);
  }
  EXPECT_EQ(DataOffset("", AsBytes(MadeHeader(""))).value(), 30u);
}

TEST(ZipMemberTest, RefusesOtherHeaders) {
  const std::string header = MadeHeader("name");
  for (std::size_t length = 0; length < header.size(); ++length) {
    ExpectDamaged(
        DataOffset("name", AsBytes(std::string_view(header).substr(0, length)))
            .status(),
        "ends in a member's header");
  }
  const auto data = AsBytes(header);
  ExpectDamaged(DataOffset("nam", data).status(), "another name");
  ExpectDamaged(DataOffset("game", data).status(), "another name");
  ExpectDamaged(DataOffset("named", AsBytes(header + "d")).status(),
                "another name");
  ExpectDamaged(DataOffset("name", AsBytes("PK\1\2" + header)).status(),
                "there is no header");
}

TEST(ZipMemberTest, InflatesAnyBlocks) {
  for (const int level : {0, 1, 9}) {
    for (const std::string& bytes : {std::string(), std::string("x"),
                                     std::string(300000, 'z'), Noise(100000)}) {
      const auto inflated = Inflated(Deflated(bytes, level), bytes.size());
      ASSERT_TRUE(inflated.ok()) << inflated.status();
      EXPECT_EQ(*inflated, bytes);
    }
  }
  EXPECT_TRUE(Inflated("", 0).ok());
}

// Longer than what zlib is given at a time.
TEST(ZipMemberTest, InflatesLongMembers) {
  const std::string bytes((std::size_t{1} << 26) + 100, '\0');
  const auto inflated = Inflated(Deflated(bytes), bytes.size());
  ASSERT_TRUE(inflated.ok()) << inflated.status();
  EXPECT_TRUE(*inflated == bytes);
}

TEST(ZipMemberTest, RefusesOtherLengths) {
  const std::string bytes = Noise(1000) + std::string(1000, 'z');
  const std::string deflated = Deflated(bytes);
  ExpectDamaged(Inflated(deflated, 1999).status(),
                "gives more bytes than the directory says");
  ExpectDamaged(Inflated(deflated, 0).status(),
                "gives more bytes than the directory says");
  ExpectDamaged(Inflated(deflated, 2001).status(),
                "gives 1 bytes less than the directory says");
  // A thousand times what it takes: deflate could, but did not.
  ExpectDamaged(Inflated(deflated, 1000 * deflated.size()).status(),
                "less than the directory says");
  ExpectDamaged(Inflated(deflated + "x", 2000).status(),
                "ends 1 bytes too early");
  ExpectDamaged(Inflated("", 1).status(), "it has no end");
}

TEST(ZipMemberTest, RefusesTruncatedData) {
  const std::string bytes = Noise(300) + std::string(100, 'z');
  const std::string deflated = Deflated(bytes);
  for (std::size_t length = 0; length < deflated.size(); ++length) {
    ExpectDamaged(Inflated(deflated.substr(0, length), bytes.size()).status(),
                  "it has no end");
  }
}

TEST(ZipMemberTest, RefusesDamagedData) {
  ExpectDamaged(Inflated("\xff\xff\xff", 10).status(), "invalid block type");
  // A distance beyond what was written.
  ExpectDamaged(Inflated(std::string("\x4b\x04\xa2\x00\x00", 5), 10).status(),
                "its deflated data is damaged");
}

TEST(ZipMemberTest, ChecksTheCrc) {
  const std::string text = "123456789";
  EXPECT_TRUE(CheckCrc(AsBytes(text), 0xcbf43926).ok());
  EXPECT_TRUE(CheckCrc({}, 0).ok());
  ExpectDamaged(CheckCrc(AsBytes(text), 0xcbf43927),
                "is damaged: its CRC-32 is cbf43926 instead of cbf43927");
  ExpectDamaged(CheckCrc({}, 1), "00000000 instead of 00000001");
}

}  // namespace
}  // namespace forebay::dataset::zip
