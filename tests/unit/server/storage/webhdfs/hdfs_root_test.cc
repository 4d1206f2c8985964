#include "server/storage/webhdfs/hdfs_root.h"

#include <memory>
#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::storage::webhdfs {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

std::shared_ptr<const HdfsRoot> RootOf(const std::string& uri,
                                       const WebHdfsSettings& settings = {}) {
  auto root = HdfsRoot::Create(uri, settings);
  CHECK_THAT(root, IsOk());
  return root.value_or(nullptr);
}

TEST_CASE("An HDFS root takes HDFS and WebHDFS URIs", "[webhdfs][hdfs_root]") {
  const WebHdfsSettings settings = {"", "me & you", "secret"};
  const auto root = RootOf("webhdfs://nn:9871/a b/ü/", settings);
  CHECK(root->uri() == "webhdfs://nn:9871/a b/ü/");
  CHECK(*root->StatusUrl("c+/d?.jpg") ==
        "http://nn:9871/webhdfs/v1/a%20b/%C3%BC/c%2B/d%3F.jpg"
        "?op=GETFILESTATUS&user.name=me%20%26%20you");
  CHECK(*root->OpenUrl("c", 5, 7) ==
        "http://nn:9871/webhdfs/v1/a%20b/%C3%BC/c"
        "?op=OPEN&offset=5&length=7&user.name=me%20%26%20you");
  CHECK(*root->ListUrl("c/") ==
        "http://nn:9871/webhdfs/v1/a%20b/%C3%BC/c"
        "?op=LISTSTATUS&user.name=me%20%26%20you");
  CHECK(*root->ListUrlAfter("", "") ==
        "http://nn:9871/webhdfs/v1/a%20b/%C3%BC/"
        "?op=LISTSTATUS_BATCH&user.name=me%20%26%20you");
  CHECK(*root->ListUrlAfter("c", "d&e") ==
        "http://nn:9871/webhdfs/v1/a%20b/%C3%BC/c"
        "?op=LISTSTATUS_BATCH&startAfter=d%26e&user.name=me%20%26%20you");
  CHECK(*RootOf("swebhdfs://nn:9871")->StatusUrl("x") ==
        "https://nn:9871/webhdfs/v1/x?op=GETFILESTATUS");
  CHECK(*RootOf("hdfs://nn:8020/a")->StatusUrl("x") ==
        "http://nn:9870/webhdfs/v1/a/x?op=GETFILESTATUS");
  CHECK(*RootOf("hdfs:///a", {"https://gate/g", "", ""})->StatusUrl("x") ==
        "https://gate/g/webhdfs/v1/a/x?op=GETFILESTATUS");
}

TEST_CASE("A token of an HDFS root is only for the server that is configured",
          "[webhdfs][hdfs_root]") {
  const WebHdfsSettings settings = {"http://nn:9870/", "me", "se=cret"};
  for (const char* uri : {"hdfs://anything/a", "webhdfs://nn:9870/a"}) {
    const auto root = RootOf(uri, settings);
    CHECK(*root->StatusUrl("x") ==
          "http://nn:9870/webhdfs/v1/a/x?op=GETFILESTATUS"
          "&delegation=se%3Dcret");
    CHECK_FALSE(root->is_chosen_by_client());
  }
  for (const char* uri : {"webhdfs://nn:9871/a", "swebhdfs://nn:9870/a",
                          "webhdfs://evil:9870/a"}) {
    const auto root = RootOf(uri, settings);
    CHECK_THAT(*root->StatusUrl("x"), Contains("&user.name=me"));
    CHECK(root->is_chosen_by_client());
  }
}

TEST_CASE("The identities of HDFS roots tell places apart",
          "[webhdfs][hdfs_root]") {
  CHECK(*RootOf("hdfs://nn/a/")->identity() ==
        *RootOf("webhdfs://nn:9870/a")->identity());
  CHECK(*RootOf("hdfs://nn/a")->identity() !=
        *RootOf("hdfs://nn/b")->identity());
  CHECK(*RootOf("hdfs://nn/a")->identity() !=
        *RootOf("hdfs://nn/a", {"", "me", ""})->identity());
}

TEST_CASE("An HDFS root refuses what is not an HDFS URI or file name",
          "[webhdfs][hdfs_root]") {
  for (const std::string uri :
       {"hdfs:/a", "http://nn/a", "hdfs://", "hdfs:///a", "hdfs://nn//a",
        "hdfs://nn/../a", "hdfs://nn/a/./b", "webhdfs://u:p@nn/a",
        "webhdfs://nn?x/a", "webhdfs://169.254.169.254/latest",
        "hdfs://metadata.google.internal/a"}) {
    const absl::Status status = HdfsRoot::Create(uri, {}).status();
    CAPTURE(uri);
    CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
    CHECK_THAT(status.message(), Contains(uri));
  }
  const auto root = RootOf("hdfs://nn/a");
  for (const std::string& name :
       {std::string(), std::string("b/"), std::string("../b"),
        std::string("b//c"), std::string("/b"), std::string("b\0c", 3)}) {
    CAPTURE(name);
    CHECK_FALSE(root->StatusUrl(name).ok());
    CHECK_FALSE(root->OpenUrl(name, 0, 1).ok());
  }
  CHECK_FALSE(root->ListUrl("..").ok());
}

}  // namespace
}  // namespace forebay::storage::webhdfs
