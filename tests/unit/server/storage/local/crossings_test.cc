#include "server/storage/local/crossings.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace forebay::storage::local {
namespace {

TEST(CrossingsTest, KnowsDirectoriesWhoseFilesLieElsewhere) {
  Crossings crossings;
  EXPECT_EQ(crossings.Find("a/x"), std::nullopt);
  crossings.Found("a/x", 7);
  EXPECT_EQ(crossings.Find("a/x"), std::nullopt);
  crossings.Add("a/x");
  EXPECT_EQ(crossings.Find("a/x"), Crossings::kUnknownDevice);
  EXPECT_EQ(crossings.Find("a/y"), Crossings::kUnknownDevice);
  EXPECT_EQ(crossings.Find("a/b/y"), std::nullopt);
  EXPECT_EQ(crossings.Find("y"), std::nullopt);
  crossings.Found("a/x", 7);
  EXPECT_EQ(crossings.Find("a/y"), 7);
  crossings.Add("a/z");
  EXPECT_EQ(crossings.Find("a/z"), 7);
}

TEST(CrossingsTest, ADirectoryWithFilesOnSeveralDevicesStaysUnknown) {
  Crossings crossings;
  crossings.Add("x");
  crossings.Found("x", 7);
  crossings.Found("y", 8);
  EXPECT_EQ(crossings.Find("z"), Crossings::kUnknownDevice);
  crossings.Found("x", 7);
  EXPECT_EQ(crossings.Find("z"), Crossings::kUnknownDevice);
}

TEST(CrossingsTest, AllDirectoriesCrossWhereTooManyDo) {
  Crossings crossings;
  for (std::size_t i = 0; i < Crossings::kMost; ++i) {
    EXPECT_EQ(crossings.Find("other/x"), std::nullopt);
    crossings.Add(std::to_string(i) + "/x");
  }
  EXPECT_EQ(crossings.Find("other/x"), Crossings::kUnknownDevice);
  crossings.Found("0/x", 7);
  EXPECT_EQ(crossings.Find("0/x"), 7);
}

}  // namespace
}  // namespace forebay::storage::local
