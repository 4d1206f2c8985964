#include "server/audio/ogg_tail.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/unit/server/audio/golden_clips.h"

namespace forebay::audio {
namespace {

// A page's header, and some bytes that follow it.
std::string Page(std::uint64_t place) {
  std::string page = "OggS" + std::string(2, '\0');
  for (int i = 0; i < 8; ++i)
    page += static_cast<char>(place >> (8 * i) & 0xFF);
  return page + std::string(60, 'x');
}

std::optional<std::uint64_t> TailOf(const std::string& file) {
  return OggTail(AsBytes(file));
}

TEST(OggTailTest, IsTheDifferenceOfTheLastTwoPlaces) {
  EXPECT_EQ(TailOf(Page(0) + Page(300) + Page(1000)), 700u);
  EXPECT_EQ(TailOf(Page(0) + Page(1000)), 1000u);
  EXPECT_EQ(TailOf(Page(5) + Page(5)), 0u);
}

TEST(OggTailTest, PagesWithoutAPlaceDoNotCount) {
  const std::string none = Page(~std::uint64_t{0});
  EXPECT_EQ(TailOf(Page(300) + none + Page(1000) + none), 700u);
}

TEST(OggTailTest, IsUnknownWithoutTwoPages) {
  EXPECT_EQ(TailOf(""), std::nullopt);
  EXPECT_EQ(TailOf("OggS"), std::nullopt);
  EXPECT_EQ(TailOf(Page(300)), std::nullopt);
  EXPECT_EQ(TailOf(Page(300) + std::string(1 << 20, 'x') + Page(400)),
            std::nullopt);
}

TEST(OggTailTest, PlacesMayFall) {
  EXPECT_EQ(TailOf(Page(100) + Page(500) + Page(200)), 400u);
}

}  // namespace
}  // namespace forebay::audio
