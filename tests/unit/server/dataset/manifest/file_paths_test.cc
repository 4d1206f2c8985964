#include "server/dataset/manifest/file_paths.h"

#include <gtest/gtest.h>

#include <string>

namespace forebay::dataset::manifest {
namespace {

// Returns the path below the root, or an error's code.
std::string Below(FilePaths& paths, const std::string& path) {
  const auto below = paths.Below(path);
  if (below.ok()) return *below;
  return absl::StatusCodeToString(below.status().code());
}

TEST(FilePathsTest, RelativePathsAreOfTheFolder) {
  FilePaths paths("/data", "lists/", nullptr);
  EXPECT_EQ(Below(paths, "a.jpg"), "lists/a.jpg");
  EXPECT_EQ(Below(paths, "file:a"), "lists/file:a");
  EXPECT_EQ(Below(paths, ""), "DATA_LOSS");
  EXPECT_EQ(Below(paths, std::string("a\0b", 3)), "DATA_LOSS");
}

TEST(FilePathsTest, AbsolutePathsLieInTheRoot) {
  FilePaths paths("/data", "lists/", nullptr);
  EXPECT_EQ(Below(paths, "/data//x/b.jpg"), "x/b.jpg");
  EXPECT_EQ(Below(paths, "file:///data/x%20y/b.jpg"), "x y/b.jpg");
  EXPECT_EQ(Below(paths, "file://elsewhere/data/b.jpg"), "INVALID_ARGUMENT");
  for (const char* path : {"/data", "/data/", "/database/a", "/other/a",
                           "file:///other/a", "gs://data/a"}) {
    EXPECT_EQ(Below(paths, path), "PERMISSION_DENIED") << path;
  }
  FilePaths bucket("gs://bucket/p", "", nullptr);
  EXPECT_EQ(Below(bucket, "gs://bucket/p/a"), "a");
  EXPECT_EQ(Below(bucket, "gs://bucket/q/a"), "PERMISSION_DENIED");
  EXPECT_EQ(Below(bucket, "file:///p/a"), "PERMISSION_DENIED");
  FilePaths none("", "", nullptr);
  EXPECT_EQ(Below(none, "/a"), "PERMISSION_DENIED");
}

TEST(FilePathsTest, LooksForEachOtherNameOfTheRootOnce) {
  int looks = 0;
  FilePaths paths("/data", "lists/", [&](const std::string& path) {
    ++looks;
    return path.starts_with("/link/") ? "/link" : "";
  });
  EXPECT_EQ(Below(paths, "/link/a"), "a");
  EXPECT_EQ(Below(paths, "/link/b/c"), "b/c");
  EXPECT_EQ(Below(paths, "file:///link/d"), "d");
  EXPECT_EQ(Below(paths, "/data/e"), "e");
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(Below(paths, "/other/a"), "PERMISSION_DENIED");
  EXPECT_EQ(Below(paths, "gs://data/a"), "PERMISSION_DENIED");
  EXPECT_EQ(looks, 2);
}

}  // namespace
}  // namespace forebay::dataset::manifest
