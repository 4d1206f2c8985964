#include "server/dataset/zip/zip_member.h"

#include <openssl/sha.h>
#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/zip/archive_records.h"
#include "tests/unit/server/dataset/zip/golden_archives.h"

namespace forebay::dataset::zip {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

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

// Returns `bytes` deflated, without a header.
std::string Deflated(const std::string& bytes, int level = 9) {
  z_stream stream = {};
  CHECK(deflateInit2(&stream, level, Z_DEFLATED, -MAX_WBITS, 8,
                     Z_DEFAULT_STRATEGY) == Z_OK);
  std::string deflated(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = const_cast<Bytef*>(AsBytes(bytes).data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(deflated.data());
  stream.avail_out = static_cast<uInt>(deflated.size());
  CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  deflated.resize(stream.total_out);
  deflateEnd(&stream);
  return deflated;
}

// Decompresses into memory of `length` bytes, and checks that the bytes after
// it are unchanged.
absl::StatusOr<std::string> Decompressed(std::string_view compressed,
                                         std::size_t length) {
  std::vector<std::uint8_t> out(length + 16, 0xa5);
  const absl::Status status =
      Inflate(AsBytes(compressed), absl::MakeSpan(out).first(length));
  for (std::size_t i = length; i < out.size(); ++i) CHECK(out[i] == 0xa5);
  if (!status.ok()) return status;
  return std::string(out.begin(), out.begin() + length);
}

void ExpectDamaged(const absl::Status& status, std::string_view reason) {
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(status.message(), Contains(std::string(reason)));
}

// Returns bytes that cannot be compressed.
std::string Noise(std::size_t length) {
  std::string noise;
  for (std::uint32_t seed = 1; noise.size() < length;) {
    seed = seed * 1664525 + 1013904223;
    noise += static_cast<char>(seed >> 24);
  }
  return noise;
}

TEST_CASE("A zip member has the bytes that Python's zipfile reads",
          "[zip][zip_member]") {
  for (const GoldenArchive& golden : GoldenArchives()) {
    const std::string archive = GoldenFile(golden.name);
    for (const GoldenMember& expected : golden.members) {
      const ZipMember& member = expected.member;
      const auto offset =
          DataOffset(member.name, AsBytes(std::string_view(archive).substr(
                                      member.header_offset - golden.base)));
      REQUIRE_THAT(offset, IsOk());
      CHECK(member.header_offset + *offset == expected.data_offset);
      const auto content = Content(archive, member, golden.base);
      REQUIRE_THAT(content, IsOk());
      CHECK(content->size() == member.length);
      CAPTURE(member.name);
      CHECK(Sha256(*content) == expected.sha256);
    }
  }
}

TEST_CASE(
    "A zip member's data may lie beyond the bytes that were read of its header",
    "[zip][zip_member]") {
  const std::string header = HeaderBytes("name", std::string(65535, 'x'));
  for (const std::size_t length : {std::size_t{34}, header.size()}) {
    const auto offset =
        DataOffset("name", AsBytes(std::string_view(header).substr(0, length)));
    REQUIRE_THAT(offset, IsOk());
    CHECK(*offset == 34u + 65535);
  }
  CHECK(DataOffset("", AsBytes(HeaderBytes(""))).value() == 30u);
}

TEST_CASE("A zip member with another header is refused", "[zip][zip_member]") {
  const std::string header = HeaderBytes("name");
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

TEST_CASE("A zip member of any deflate blocks is decompressed",
          "[zip][zip_member]") {
  for (const int level : {0, 1, 9}) {
    for (const std::string& bytes : {std::string(), std::string("x"),
                                     std::string(300000, 'z'), Noise(100000)}) {
      const auto decompressed =
          Decompressed(Deflated(bytes, level), bytes.size());
      REQUIRE_THAT(decompressed, IsOk());
      CHECK(*decompressed == bytes);
    }
  }
  CHECK_THAT(Decompressed("", 0), IsOk());
}

// The member is longer than the bytes that zlib gets in one call.
TEST_CASE("A zip member longer than zlib's limit for one call is decompressed",
          "[zip][zip_member]") {
  const std::string bytes((std::size_t{1} << 26) + 100, '\0');
  const auto decompressed = Decompressed(Deflated(bytes), bytes.size());
  REQUIRE_THAT(decompressed, IsOk());
  CHECK(*decompressed == bytes);
}

TEST_CASE("A zip member of another length than its directory says is refused",
          "[zip][zip_member]") {
  const std::string bytes = Noise(1000) + std::string(1000, 'z');
  const std::string deflated = Deflated(bytes);
  ExpectDamaged(Decompressed(deflated, 1999).status(),
                "gives more bytes than the directory says");
  ExpectDamaged(Decompressed(deflated, 0).status(),
                "gives more bytes than the directory says");
  ExpectDamaged(Decompressed(deflated, 2001).status(),
                "gives 1 bytes less than the directory says");
  // Deflated data can give up to a thousand times its length, but this data
  // does not.
  ExpectDamaged(Decompressed(deflated, 1000 * deflated.size()).status(),
                "less than the directory says");
  ExpectDamaged(Decompressed(deflated + "x", 2000).status(),
                "ends 1 bytes too early");
  ExpectDamaged(Decompressed("", 1).status(), "it has no end");
}

TEST_CASE("A zip member with truncated data is refused", "[zip][zip_member]") {
  const std::string bytes = Noise(300) + std::string(100, 'z');
  const std::string deflated = Deflated(bytes);
  for (std::size_t length = 0; length < deflated.size(); ++length) {
    ExpectDamaged(
        Decompressed(deflated.substr(0, length), bytes.size()).status(),
        "it has no end");
  }
}

TEST_CASE("A zip member with damaged data is refused", "[zip][zip_member]") {
  ExpectDamaged(Decompressed("\xff\xff\xff", 10).status(),
                "invalid block type");
  // The match begins before the first byte of the output.
  ExpectDamaged(
      Decompressed(std::string("\x4b\x04\xa2\x00\x00", 5), 10).status(),
      "its deflated data is damaged");
}

TEST_CASE("A zip member's CRC-32 is checked", "[zip][zip_member]") {
  const std::string text = "123456789";
  CHECK_THAT(CheckCrc(AsBytes(text), 0xcbf43926), IsOk());
  CHECK_THAT(CheckCrc({}, 0), IsOk());
  ExpectDamaged(CheckCrc(AsBytes(text), 0xcbf43927),
                "is damaged: its CRC-32 is cbf43926 instead of cbf43927");
  ExpectDamaged(CheckCrc({}, 1), "00000000 instead of 00000001");
}

}  // namespace
}  // namespace forebay::dataset::zip
