#include "server/dataset/shards/gzip_member.h"

#include <string>
#include <string_view>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/compressed/compressed_files.h"

namespace forebay::dataset::shards {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

using storage::compressed::AsBytes;
using storage::compressed::Gzip;
using storage::compressed::Noise;
using storage::compressed::Prose;

// Decompresses into memory of `length` bytes, and checks that the bytes after
// it are unchanged.
absl::StatusOr<std::string> Decompressed(std::string_view compressed,
                                         std::size_t length) {
  std::string out(length + 8, '#');
  const absl::Status status = Gunzip(
      AsBytes(compressed),
      absl::MakeSpan(reinterpret_cast<std::uint8_t*>(out.data()), length));
  CHECK(out.substr(length) == "########");
  if (!status.ok()) return status;
  return out.substr(0, length);
}

void ExpectDamaged(std::string_view compressed, std::size_t length,
                   std::string_view reason) {
  const absl::Status status = Decompressed(compressed, length).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(status.message(), Contains(std::string(reason)));
}

TEST_CASE("A gzip member is known by its name", "[shards][gzip_member]") {
  CHECK(IsGzipped("npy.gz"));
  CHECK(IsGzipped("left.npy.gz"));
  CHECK(IsGzipped("gz"));
  CHECK_FALSE(IsGzipped("npy"));
  CHECK_FALSE(IsGzipped("gz.npy"));
  CHECK_FALSE(IsGzipped("tgz"));
  CHECK_FALSE(IsGzipped(""));
}

TEST_CASE("A gzip member inflates to the length that its end says",
          "[shards][gzip_member]") {
  for (const std::string& text :
       {std::string(), std::string("abc"), Prose(3'000'000, 1),
        Noise(100'000, 2), std::string(5'000'000, 'x')}) {
    const std::string compressed = Gzip(text);
    const std::uint32_t bytes = DecompressedBytes(
        AsBytes(compressed).last(kGzipEndBytes), compressed.size());
    CHECK(bytes == text.size());
    const auto decompressed = Decompressed(compressed, bytes);
    REQUIRE_THAT(decompressed, IsOk());
    CHECK(*decompressed == text);
    // `tar` and tape drives pad files with zeros.
    CHECK_THAT(Decompressed(compressed + std::string(100, '\0'), bytes),
               IsOk());
  }
}

TEST_CASE("A gzip member's end is not believed if it says an impossible length",
          "[shards][gzip_member]") {
  CHECK(DecompressedBytes(AsBytes("\xff\xff\xff\xff"), 1000) == 0);
  CHECK(DecompressedBytes(AsBytes("\xff\xff\xff\xff"), UINT32_MAX) ==
        UINT32_MAX);
  CHECK(DecompressedBytes(AsBytes(std::string_view("\0\1\0\0", 4)), 1) == 256);
}

TEST_CASE("A gzip member's decompression reports damage",
          "[shards][gzip_member]") {
  const std::string text = Prose(5000, 1);
  const std::string compressed = Gzip(text);
  ExpectDamaged(compressed, text.size() - 1, "more bytes than its end says");
  ExpectDamaged(compressed, text.size() + 1, "1 bytes less than its end says");
  ExpectDamaged(compressed, 0, "more bytes than its end says");
  ExpectDamaged(compressed + "x", text.size(), "something lies behind its end");
  ExpectDamaged(compressed + compressed, text.size(),
                "something lies behind its end");
  ExpectDamaged("abcdefghijklmnopqrs", 10, "incorrect header check");
  ExpectDamaged("", 0, "it has no end");
  for (std::size_t size = 0; size < compressed.size(); ++size)
    ExpectDamaged(compressed.substr(0, size), text.size(), "it has no end");
  std::string wrong = compressed;
  wrong[wrong.size() - 6] ^= 1;
  ExpectDamaged(wrong, text.size(), "incorrect data check");
}

}  // namespace
}  // namespace forebay::dataset::shards
