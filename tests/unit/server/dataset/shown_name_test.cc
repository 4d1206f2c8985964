#include "server/dataset/shown_name.h"

#include <string>

#include "gtest/gtest.h"

namespace forebay::dataset {
namespace {

TEST(ShownNameTest, EscapesWhatEndsALineOrAMessage) {
  EXPECT_EQ(ShownName("it's \"a\" caf\xc3\xa9"), "it's \"a\" caf\xc3\xa9");
  EXPECT_EQ(ShownName(std::string("a\0b\n\x1b[31m\x7f", 10)),
            "a\\x00b\\x0a\\x1b[31m\\x7f");
  EXPECT_EQ(ShownName(""), "");
}

TEST(ShownNameTest, ShowsTheBeginningOfALongName) {
  EXPECT_EQ(ShownName(std::string(256, 'x')), std::string(256, 'x'));
  EXPECT_EQ(ShownName(std::string(257, 'x')), std::string(256, 'x') + "...");
}

}  // namespace
}  // namespace forebay::dataset
