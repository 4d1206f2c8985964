#include "server/storage/root_opener.h"

#include <gtest/gtest.h>

namespace forebay::storage {
namespace {

TEST(RootOpenerTest, TellsPlacesFromFolders) {
  for (const char* uri : {"gs://bucket/a", "https://host/x", "s3://b", "x://"})
    EXPECT_TRUE(IsRemoteUri(uri)) << uri;
  for (const char* uri : {"", "/data/train", "data", "file:///data", "/a://b",
                          "/data/gs://bucket", "gs:/bucket", "gs:"})
    EXPECT_FALSE(IsRemoteUri(uri)) << uri;
}

}  // namespace
}  // namespace forebay::storage
