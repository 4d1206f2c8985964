#include "server/dataset/manifest/file_paths.h"

#include <string>

#include "tests/catch/catch.h"

namespace forebay::dataset::manifest {
namespace {

// Returns the path below the root, or the name of the error's code.
std::string Below(FilePaths& paths, const std::string& path) {
  const auto below = paths.Below(path);
  if (below.ok()) return *below;
  return absl::StatusCodeToString(below.status().code());
}

TEST_CASE("A manifest's relative paths are those of its folder",
          "[manifest][file_paths]") {
  FilePaths paths("/data", "lists/", nullptr);
  CHECK(Below(paths, "a.jpg") == "lists/a.jpg");
  CHECK(Below(paths, "file:a") == "lists/file:a");
  CHECK(Below(paths, "") == "DATA_LOSS");
  CHECK(Below(paths, std::string("a\0b", 3)) == "DATA_LOSS");
}

TEST_CASE("A manifest's absolute paths must lie in the root",
          "[manifest][file_paths]") {
  FilePaths paths("/data", "lists/", nullptr);
  CHECK(Below(paths, "/data//x/b.jpg") == "x/b.jpg");
  CHECK(Below(paths, "file:///data/x%20y/b.jpg") == "x y/b.jpg");
  CHECK(Below(paths, "file://elsewhere/data/b.jpg") == "INVALID_ARGUMENT");
  for (const char* path : {"/data", "/data/", "/database/a", "/other/a",
                           "file:///other/a", "gs://data/a"}) {
    CAPTURE(path);
    CHECK(Below(paths, path) == "PERMISSION_DENIED");
  }
  FilePaths bucket("gs://bucket/p", "", nullptr);
  CHECK(Below(bucket, "gs://bucket/p/a") == "a");
  CHECK(Below(bucket, "gs://bucket/q/a") == "PERMISSION_DENIED");
  CHECK(Below(bucket, "file:///p/a") == "PERMISSION_DENIED");
  FilePaths none("", "", nullptr);
  CHECK(Below(none, "/a") == "PERMISSION_DENIED");
}

TEST_CASE("A manifest's file paths look for each other name of the root once",
          "[manifest][file_paths]") {
  int looks = 0;
  FilePaths paths("/data", "lists/", [&](const std::string& path) {
    ++looks;
    return path.starts_with("/link/") ? "/link" : "";
  });
  CHECK(Below(paths, "/link/a") == "a");
  CHECK(Below(paths, "/link/b/c") == "b/c");
  CHECK(Below(paths, "file:///link/d") == "d");
  CHECK(Below(paths, "/data/e") == "e");
  CHECK(looks == 1);
  CHECK(Below(paths, "/other/a") == "PERMISSION_DENIED");
  CHECK(Below(paths, "gs://data/a") == "PERMISSION_DENIED");
  CHECK(looks == 2);
}

}  // namespace
}  // namespace forebay::dataset::manifest
