#include "server/storage/root_opener.h"

#include "tests/catch/catch.h"

namespace forebay::storage {
namespace {

TEST_CASE("The root opener tells remote places from folders",
          "[storage][root_opener]") {
  for (const char* uri :
       {"gs://bucket/a", "https://host/x", "s3://b", "x://"}) {
    CAPTURE(uri);
    CHECK(IsRemoteUri(uri));
  }
  for (const char* uri : {"", "/data/train", "data", "file:///data", "/a://b",
                          "/data/gs://bucket", "gs:/bucket", "gs:"}) {
    CAPTURE(uri);
    CHECK_FALSE(IsRemoteUri(uri));
  }
}

}  // namespace
}  // namespace forebay::storage
