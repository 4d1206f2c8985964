#include "server/storage/local/crossings.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace forebay::storage::local {
namespace {

TEST(CrossingsTest, KnowsDirectoriesWhoseFilesLieElsewhere) {
  Crossings crossings;
  EXPECT_FALSE(crossings.Contains("a/x"));
  crossings.Add("a/x");
  EXPECT_TRUE(crossings.Contains("a/x"));
  EXPECT_TRUE(crossings.Contains("a/y"));
  EXPECT_FALSE(crossings.Contains("a/b/y"));
  EXPECT_FALSE(crossings.Contains("y"));
  crossings.Add("x");
  EXPECT_TRUE(crossings.Contains("y"));
}

TEST(CrossingsTest, AllDirectoriesCrossWhereTooManyDo) {
  Crossings crossings;
  for (std::size_t i = 0; i < Crossings::kMost; ++i) {
    EXPECT_FALSE(crossings.Contains("other/x"));
    crossings.Add(std::to_string(i) + "/x");
  }
  EXPECT_TRUE(crossings.Contains("other/x"));
  EXPECT_TRUE(crossings.Contains("0/x"));
}

}  // namespace
}  // namespace forebay::storage::local
