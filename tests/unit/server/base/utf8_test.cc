#include "server/base/utf8.h"

#include <gtest/gtest.h>

#include <string_view>

namespace forebay::base {
namespace {

TEST(Utf8Test, TellsTheLengthOfTheFirstCharacter) {
  EXPECT_EQ(Utf8Length(std::string_view("\0x", 2)), 1);
  EXPECT_EQ(Utf8Length("\x7f"), 1);
  EXPECT_EQ(Utf8Length("\xc2\x80"), 2);
  EXPECT_EQ(Utf8Length("\xdf\xbf!"), 2);
  EXPECT_EQ(Utf8Length("\xe0\xa0\x80"), 3);
  EXPECT_EQ(Utf8Length("\xed\x9f\xbf"), 3);
  EXPECT_EQ(Utf8Length("\xee\x80\x80"), 3);
  EXPECT_EQ(Utf8Length("\xf0\x90\x80\x80"), 4);
  EXPECT_EQ(Utf8Length("\xf4\x8f\xbf\xbf!"), 4);
}

TEST(Utf8Test, FindsCharactersMalformed) {
  for (const std::string_view text : {
           "\x80", "\xbf", "\xff", "\xf5\x80\x80\x80",  // no first byte
           "\xc3", "\xe2\x82", "\xf0\x9f\x98",          // cut short
           "\xc3(", "\xe2(\xac", "\xe2\x82(", "\xf0\x9f\x98(", "\xc0\x80",
           "\xc1\xbf", "\xe0\x9f\xbf",                          // overlong
           "\xf0\x8f\xbf\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",  // surrogates
           "\xf4\x90\x80\x80",  // above U+10FFFF
       }) {
    EXPECT_EQ(Utf8Length(text), 0) << testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace forebay::base
