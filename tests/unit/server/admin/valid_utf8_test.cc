#include "server/admin/valid_utf8.h"

#include <gtest/gtest.h>

namespace forebay::admin {
namespace {

TEST(ValidUtf8Test, BadBytesAreReplaced) {
  EXPECT_EQ(ValidUtf8("plain, \xC3\xA4, \xE2\x82\xAC, \xF0\x9F\x98\x80"),
            "plain, \xC3\xA4, \xE2\x82\xAC, \xF0\x9F\x98\x80");
  EXPECT_EQ(ValidUtf8("\xC3"), "?");                 // cut off
  EXPECT_EQ(ValidUtf8("\xC0\xAF"), "??");            // overlong
  EXPECT_EQ(ValidUtf8("\xED\xA0\x80"), "???");       // a surrogate
  EXPECT_EQ(ValidUtf8("\xF4\x90\x80\x80"), "????");  // above U+10FFFF
  EXPECT_EQ(ValidUtf8("\xFF"
                      "a\x80"),
            "?a?");
}

}  // namespace
}  // namespace forebay::admin
