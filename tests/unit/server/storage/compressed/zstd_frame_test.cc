#include "server/storage/compressed/zstd_frame.h"

#include <optional>
#include <string>
#include <string_view>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/compressed/compressed_files.h"

namespace forebay::storage::compressed {
namespace {

using tests::HasCode;
using tests::IsOk;

std::optional<ZstdFrame> Parse(std::string_view start) {
  const auto frame = ParseZstdFrame(AsBytes(start));
  CHECK_THAT(frame, IsOk());
  return frame.ok() ? *frame : std::nullopt;
}

TEST_CASE("The zstd frame parser reads what zstd writes",
          "[compressed][zstd_frame]") {
  for (const std::size_t size :
       {0, 1, 255, 256, 300, 65'791, 65'792, 3 << 20}) {
    const std::string text(size, 'x');
    const auto frame = Parse(Zstd(text));
    REQUIRE(frame.has_value());
    CHECK(frame->content_bytes == size);
    CHECK_FALSE(frame->has_dictionary);
    CHECK_FALSE(frame->is_skipped);
    CHECK(frame->window_bytes >= std::min<std::size_t>(size, 1 << 20));
  }
  const auto frame = Parse(
      Zstd(std::string(100'000, 'x'), {.window_log = 24, .tells_size = false}));
  REQUIRE(frame.has_value());
  CHECK(frame->content_bytes == std::nullopt);
  CHECK(frame->window_bytes == 1 << 24);
  CHECK(frame->header_bytes == 6);
}

TEST_CASE("The zstd frame parser reads skipped frames",
          "[compressed][zstd_frame]") {
  for (char magic = 0x50; magic < 0x60; ++magic) {
    std::string compressed = SkippedFrame(std::string(300, 'x'));
    compressed[0] = magic;
    const auto frame = Parse(compressed);
    REQUIRE(frame.has_value());
    CHECK(frame->is_skipped);
    CHECK(frame->header_bytes == 8);
    CHECK(frame->skipped_bytes == 300);
  }
}

TEST_CASE("The zstd frame parser wants the whole header",
          "[compressed][zstd_frame]") {
  for (const std::string& compressed :
       {Zstd("abc"), Zstd(std::string(300'000, 'x')), SkippedFrame("abc")}) {
    const auto frame = Parse(compressed);
    REQUIRE(frame.has_value());
    REQUIRE(frame->header_bytes <= kZstdHeaderBytes);
    for (std::size_t size = 0; size < frame->header_bytes; ++size) {
      CAPTURE(size);
      CHECK(Parse(compressed.substr(0, size)) == std::nullopt);
    }
    CHECK(Parse(compressed.substr(0, frame->header_bytes)) == frame);
  }
}

// The header's fields take every possible length, and have different values
// (RFC 8878 3.1.1.1).
TEST_CASE("The zstd frame parser reads long header fields",
          "[compressed][zstd_frame]") {
  const std::string magic = "\x28\xb5\x2f\xfd";
  // The longest header has a window, a dictionary and a size of eight bytes.
  auto frame = Parse(magic + "\xc3\x08" + "\1\2\3\4" + "\1\2\3\4\5\6\7\x08");
  REQUIRE(frame.has_value());
  CHECK(frame->header_bytes == kZstdHeaderBytes);
  CHECK(frame->window_bytes == 2048);
  CHECK(frame->has_dictionary);
  CHECK(frame->content_bytes == 0x0807060504030201);
  // The window is the largest that a header can describe.
  frame = Parse(magic + std::string("\0\xff", 2));
  REQUIRE(frame.has_value());
  CHECK(frame->window_bytes ==
        (std::uint64_t{1} << 41) + 7 * (std::uint64_t{1} << 38));
  // A dictionary ID of 0 means no dictionary. In a single-segment frame, the
  // window is as long as the content.
  frame = Parse(magic + std::string("\x61\0\xff\xff", 4));
  REQUIRE(frame.has_value());
  CHECK_FALSE(frame->has_dictionary);
  CHECK(frame->content_bytes == 65'535 + 256);
  CHECK(frame->window_bytes == 65'535 + 256);
}

TEST_CASE("The zstd frame parser refuses what is not a zstd frame",
          "[compressed][zstd_frame]") {
  for (const std::string_view start :
       {"abcdefgh", "\x28\xb5\x2f\xfe", "\x27\xb5\x2f\xfd",
        "\x28\xb5\x2f\xfd\x08 reserved", "\x60\x2a\x4d\x18 more"}) {
    CAPTURE(start);
    CHECK_THAT(ParseZstdFrame(AsBytes(start)),
               HasCode(absl::StatusCode::kDataLoss));
  }
}

}  // namespace
}  // namespace forebay::storage::compressed
