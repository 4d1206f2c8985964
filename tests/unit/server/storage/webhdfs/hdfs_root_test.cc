#include "server/storage/webhdfs/hdfs_root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace forebay::storage::webhdfs {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const HdfsRoot> RootOf(const std::string& uri,
                                       const Settings& settings = {}) {
  auto root = HdfsRoot::Create(uri, settings);
  EXPECT_TRUE(root.ok()) << root.status();
  return root.value_or(nullptr);
}

TEST(HdfsRootTest, TakesUris) {
  const Settings settings = {"", "me & you", "secret"};
  const auto root = RootOf("webhdfs://nn:9871/a b/ü/", settings);
  EXPECT_EQ(root->uri(), "webhdfs://nn:9871/a b/ü/");
  EXPECT_EQ(*root->StatusUrl("c+/d?.jpg"),
            "http://nn:9871/webhdfs/v1/a%20b/%C3%BC/c%2B/d%3F.jpg"
            "?op=GETFILESTATUS&user.name=me%20%26%20you");
  EXPECT_EQ(*root->OpenUrl("c", 5, 7),
            "http://nn:9871/webhdfs/v1/a%20b/%C3%BC/c"
            "?op=OPEN&offset=5&length=7&user.name=me%20%26%20you");
  EXPECT_EQ(*root->ListUrl("c/"),
            "http://nn:9871/webhdfs/v1/a%20b/%C3%BC/c"
            "?op=LISTSTATUS&user.name=me%20%26%20you");
  EXPECT_EQ(*root->ListUrlAfter("", ""),
            "http://nn:9871/webhdfs/v1/a%20b/%C3%BC/"
            "?op=LISTSTATUS_BATCH&user.name=me%20%26%20you");
  EXPECT_EQ(*root->ListUrlAfter("c", "d&e"),
            "http://nn:9871/webhdfs/v1/a%20b/%C3%BC/c"
            "?op=LISTSTATUS_BATCH&startAfter=d%26e&user.name=me%20%26%20you");
  EXPECT_EQ(*RootOf("swebhdfs://nn:9871")->StatusUrl("x"),
            "https://nn:9871/webhdfs/v1/x?op=GETFILESTATUS");
  EXPECT_EQ(*RootOf("hdfs://nn:8020/a")->StatusUrl("x"),
            "http://nn:9870/webhdfs/v1/a/x?op=GETFILESTATUS");
  EXPECT_EQ(*RootOf("hdfs:///a", {"https://gate/g", "", ""})->StatusUrl("x"),
            "https://gate/g/webhdfs/v1/a/x?op=GETFILESTATUS");
}

TEST(HdfsRootTest, ATokenIsForTheServerThatIsConfigured) {
  const Settings settings = {"http://nn:9870/", "me", "se=cret"};
  for (const char* uri : {"hdfs://anything/a", "webhdfs://nn:9870/a"}) {
    const auto root = RootOf(uri, settings);
    EXPECT_EQ(*root->StatusUrl("x"),
              "http://nn:9870/webhdfs/v1/a/x?op=GETFILESTATUS"
              "&delegation=se%3Dcret");
    EXPECT_FALSE(root->is_chosen_by_client());
  }
  for (const char* uri : {"webhdfs://nn:9871/a", "swebhdfs://nn:9870/a",
                          "webhdfs://evil:9870/a"}) {
    const auto root = RootOf(uri, settings);
    EXPECT_THAT(*root->StatusUrl("x"), HasSubstr("&user.name=me"));
    EXPECT_TRUE(root->is_chosen_by_client());
  }
}

TEST(HdfsRootTest, PlacesAreToldApart) {
  EXPECT_EQ(*RootOf("hdfs://nn/a/")->identity(),
            *RootOf("webhdfs://nn:9870/a")->identity());
  EXPECT_NE(*RootOf("hdfs://nn/a")->identity(),
            *RootOf("hdfs://nn/b")->identity());
  EXPECT_NE(*RootOf("hdfs://nn/a")->identity(),
            *RootOf("hdfs://nn/a", {"", "me", ""})->identity());
}

TEST(HdfsRootTest, RefusesWhatIsNone) {
  for (const std::string uri :
       {"hdfs:/a", "http://nn/a", "hdfs://", "hdfs:///a", "hdfs://nn//a",
        "hdfs://nn/../a", "hdfs://nn/a/./b", "webhdfs://u:p@nn/a",
        "webhdfs://nn?x/a", "webhdfs://169.254.169.254/latest",
        "hdfs://metadata.google.internal/a"}) {
    const absl::Status status = HdfsRoot::Create(uri, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << uri;
    EXPECT_THAT(std::string(status.message()), HasSubstr(uri));
  }
  const auto root = RootOf("hdfs://nn/a");
  for (const std::string& name :
       {std::string(), std::string("b/"), std::string("../b"),
        std::string("b//c"), std::string("/b"), std::string("b\0c", 3)}) {
    EXPECT_FALSE(root->StatusUrl(name).ok()) << name;
    EXPECT_FALSE(root->OpenUrl(name, 0, 1).ok()) << name;
  }
  EXPECT_FALSE(root->ListUrl("..").ok());
}

}  // namespace
}  // namespace forebay::storage::webhdfs
