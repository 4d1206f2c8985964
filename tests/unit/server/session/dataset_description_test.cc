#include "server/session/dataset_description.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace forebay::session {
namespace {

proto::ReaderOpened WithWarnings(const std::vector<std::string>& warnings) {
  proto::ReaderOpened opened;
  AddWarnings(warnings, opened);
  return opened;
}

TEST(DatasetDescriptionTest, WarningsKeepTheirOrder) {
  const proto::ReaderOpened opened = WithWarnings({"one", "", "caf\xe9"});
  ASSERT_EQ(opened.warnings_size(), 3);
  EXPECT_EQ(opened.warnings(0), "one");
  EXPECT_EQ(opened.warnings(1), "");
  EXPECT_EQ(opened.warnings(2), "caf\xe9");
}

TEST(DatasetDescriptionTest, AMessageHasRoomForSomeWarnings) {
  EXPECT_EQ(WithWarnings(std::vector<std::string>(9, "x")).warnings_size(), 8);
  const std::string large(2000, 'x');
  EXPECT_EQ(WithWarnings({large, large, large, "x"}).warnings_size(), 2);
  EXPECT_EQ(WithWarnings({std::string(4097, 'x')}).warnings_size(), 0);
  EXPECT_EQ(WithWarnings({std::string(4096, 'x'), "x"}).warnings_size(), 1);
}

}  // namespace
}  // namespace forebay::session
