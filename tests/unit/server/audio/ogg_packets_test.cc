#include "server/audio/ogg_packets.h"

#include <string>

#include "gtest/gtest.h"
#include "server/audio/any_clip_decoder.h"
#include "tests/unit/server/audio/golden_clips.h"

namespace forebay::audio {
namespace {

// A page of a stream, with so many segments of 255 bytes, and perhaps a last
// one that ends the packet. Its checksum is none.
std::string Page(char stream, std::size_t segments, bool ends) {
  std::string page = "OggS" + std::string(23, '\0');
  page[14] = stream;
  page[26] = static_cast<char>(segments + (ends ? 1 : 0));
  page.append(segments, '\xff');
  if (ends) page.push_back('\0');
  return page + std::string(segments * 255, '.');
}

std::string Pages(std::size_t count, char stream) {
  std::string pages;
  for (std::size_t i = 0; i < count; ++i) pages += Page(stream, 255, false);
  return pages;
}

constexpr std::size_t kFew = kMostOggPacket / (255 * 255);

TEST(OggPacketsTest, OfOtherFilesAreFine) {
  for (const char* const name :
       {"1_vorbis.ogg", "4_long.ogg", "1_opus.opus", "1_ffmpeg.opus"})
    EXPECT_TRUE(CheckOggPackets(AsBytes(ClipFile(name))).ok()) << name;
  for (const char* const text : {"", "OggS", "Og"})
    EXPECT_TRUE(CheckOggPackets(AsBytes(text)).ok()) << text;
}

TEST(OggPacketsTest, AreBoundedInLength) {
  const std::string fits = Pages(kFew, 1);
  EXPECT_TRUE(CheckOggPackets(AsBytes(fits)).ok());
  EXPECT_TRUE(CheckOggPackets(AsBytes(fits + Page(1, 1, true) + fits)).ok());
  const std::string longer = fits + Pages(1, 1);
  EXPECT_EQ(CheckOggPackets(AsBytes(longer)).message(),
            "is an Ogg file with a packet of more than 16777216 bytes");
  AnyClipDecoder decoder;
  EXPECT_EQ(decoder.Open(AsBytes(longer)).status(),
            CheckOggPackets(AsBytes(longer)));
}

TEST(OggPacketsTest, OfOtherStreamsAreNotCounted) {
  const std::string first = Page(1, 1, false);
  EXPECT_TRUE(CheckOggPackets(AsBytes(first + Pages(kFew + 1, 2))).ok());
  std::string mixed;
  for (std::size_t i = 0; i < kFew + 1; ++i)
    mixed += Page(1, 255, false) + "between" + Page(2, 1, true);
  EXPECT_FALSE(CheckOggPackets(AsBytes(mixed)).ok());
}

TEST(OggPacketsTest, PagesMayBeCutOff) {
  const std::string page = Page(1, 255, false);
  for (std::size_t size = 0; size < page.size(); size += 13)
    EXPECT_TRUE(
        CheckOggPackets(AsBytes(std::string_view(page).substr(0, size))).ok());
}

}  // namespace
}  // namespace forebay::audio
