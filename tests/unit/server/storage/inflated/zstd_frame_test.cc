#include "server/storage/inflated/zstd_frame.h"

#include <optional>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "tests/unit/server/storage/inflated/packed_files.h"

namespace forebay::storage::inflated {
namespace {

std::optional<ZstdFrame> Parse(std::string_view start) {
  const auto frame = ParseZstdFrame(AsBytes(start));
  EXPECT_TRUE(frame.ok()) << frame.status();
  return frame.ok() ? *frame : std::nullopt;
}

TEST(ZstdFrameTest, ReadsWhatZstdWrites) {
  for (const std::size_t size :
       {0, 1, 255, 256, 300, 65'791, 65'792, 3 << 20}) {
    const std::string text(size, 'x');
    const auto frame = Parse(Zstd(text));
    ASSERT_TRUE(frame.has_value());
    EXPECT_EQ(frame->content_bytes, size);
    EXPECT_FALSE(frame->has_dictionary);
    EXPECT_FALSE(frame->is_skipped);
    EXPECT_GE(frame->window_bytes, std::min<std::size_t>(size, 1 << 20));
  }
  const auto frame = Parse(
      Zstd(std::string(100'000, 'x'), {.window_log = 24, .tells_size = false}));
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->content_bytes, std::nullopt);
  EXPECT_EQ(frame->window_bytes, 1 << 24);
  EXPECT_EQ(frame->header_bytes, 6);
}

TEST(ZstdFrameTest, ReadsSkippedFrames) {
  for (char magic = 0x50; magic < 0x60; ++magic) {
    std::string packed = SkippedFrame(std::string(300, 'x'));
    packed[0] = magic;
    const auto frame = Parse(packed);
    ASSERT_TRUE(frame.has_value());
    EXPECT_TRUE(frame->is_skipped);
    EXPECT_EQ(frame->header_bytes, 8);
    EXPECT_EQ(frame->skipped_bytes, 300);
  }
}

TEST(ZstdFrameTest, WantsTheWholeHeader) {
  for (const std::string& packed :
       {Zstd("abc"), Zstd(std::string(300'000, 'x')), SkippedFrame("abc")}) {
    const auto frame = Parse(packed);
    ASSERT_TRUE(frame.has_value());
    ASSERT_LE(frame->header_bytes, kZstdHeaderBytes);
    for (std::size_t size = 0; size < frame->header_bytes; ++size)
      EXPECT_EQ(Parse(packed.substr(0, size)), std::nullopt) << size;
    EXPECT_EQ(Parse(packed.substr(0, frame->header_bytes)), frame);
  }
}

// Fields of every length, each with its own value.
TEST(ZstdFrameTest, ReadsLongFields) {
  const std::string magic = "\x28\xb5\x2f\xfd";
  // The longest header: a window, a dictionary and a size of eight bytes.
  auto frame = Parse(magic + "\xc3\x08" + "\1\2\3\4" + "\1\2\3\4\5\6\7\x08");
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->header_bytes, kZstdHeaderBytes);
  EXPECT_EQ(frame->window_bytes, 2048);
  EXPECT_TRUE(frame->has_dictionary);
  EXPECT_EQ(frame->content_bytes, 0x0807060504030201);
  // The largest window.
  frame = Parse(magic + std::string("\0\xff", 2));
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->window_bytes,
            (std::uint64_t{1} << 41) + 7 * (std::uint64_t{1} << 38));
  // A dictionary without a number is none; a single segment is its window.
  frame = Parse(magic + std::string("\x61\0\xff\xff", 4));
  ASSERT_TRUE(frame.has_value());
  EXPECT_FALSE(frame->has_dictionary);
  EXPECT_EQ(frame->content_bytes, 65'535 + 256);
  EXPECT_EQ(frame->window_bytes, 65'535 + 256);
}

TEST(ZstdFrameTest, RefusesOthers) {
  for (const std::string_view start :
       {"abcdefgh", "\x28\xb5\x2f\xfe", "\x27\xb5\x2f\xfd",
        "\x28\xb5\x2f\xfd\x08 reserved", "\x60\x2a\x4d\x18 more"}) {
    EXPECT_TRUE(absl::IsDataLoss(ParseZstdFrame(AsBytes(start)).status()))
        << start;
  }
}

}  // namespace
}  // namespace forebay::storage::inflated
