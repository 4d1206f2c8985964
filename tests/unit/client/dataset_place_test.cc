#include "client/dataset_place.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace forebay::client {
namespace {

forebay_loader_options Options(const char* uri, forebay_format format) {
  forebay_loader_options options = {};
  options.uri = uri;
  options.format = format;
  return options;
}

DatasetPlace Found(const forebay_loader_options& options) {
  DatasetPlace place;
  const Status status = FindPlace(options, &place);
  EXPECT_TRUE(status.ok()) << status.message;
  return place;
}

TEST(DatasetPlaceTest, AFolderIsItself) {
  forebay_loader_options options =
      Options("/data/{odd}*.tar", FOREBAY_IMAGE_FOLDER);
  EXPECT_EQ(Found(options).uri, "/data/{odd}*.tar");
  EXPECT_EQ(Found(options).folder, "/data/{odd}*.tar");
  options.root = "/elsewhere";
  EXPECT_EQ(Found(options).uri, "/data/{odd}*.tar");
  EXPECT_EQ(Found(options).folder, "/elsewhere");
}

TEST(DatasetPlaceTest, ShardsLieInTheLongestFolderWithoutWildcards) {
  struct Case {
    const char* uri;
    const char* folder;
    const char* shards;
  };
  for (const Case& c :
       std::vector<Case>{{"/data/{00..12}.tar", "/data", "{00..12}.tar"},
                         {"/data/a/b-*.tar", "/data/a", "b-*.tar"},
                         {"/data/{a,b}/c/?.tar", "/data", "{a,b}/c/?.tar"},
                         {"/data/[ab]/x.tar", "/data", "[ab]/x.tar"},
                         {"/data/one.tar", "/data", "one.tar"},
                         {"/*/x.tar", "/", "*/x.tar"},
                         {"/x.tar", "/", "x.tar"},
                         {"x.tar", ".", "x.tar"},
                         {"{a,b}/x.tar", ".", "{a,b}/x.tar"}}) {
    const DatasetPlace place = Found(Options(c.uri, FOREBAY_WEBDATASET));
    EXPECT_EQ(place.folder, c.folder) << c.uri;
    EXPECT_EQ(place.uri, c.folder) << c.uri;
    EXPECT_EQ(place.shards, std::vector<std::string>{c.shards}) << c.uri;
  }
}

TEST(DatasetPlaceTest, ShardsMayBeNamedBelowARoot) {
  const char* const shards[] = {"a.tar", "b-*.tar"};
  forebay_loader_options options = Options("mine", FOREBAY_WEBDATASET);
  options.shards = shards;
  options.shard_count = 2;
  DatasetPlace place;
  EXPECT_EQ(FindPlace(options, &place).code, FOREBAY_INVALID_ARGUMENT);
  options.root = "/data";
  place = Found(options);
  EXPECT_EQ(place.uri, "mine");
  EXPECT_EQ(place.folder, "/data");
  EXPECT_EQ(place.shards, (std::vector<std::string>{"a.tar", "b-*.tar"}));
  options.shards = nullptr;
  EXPECT_EQ(FindPlace(options, &place).code, FOREBAY_INVALID_ARGUMENT);
}

TEST(DatasetPlaceTest, AManifestLiesInItsFolder) {
  const char* const names[] = {"image"};
  forebay_loader_options options =
      Options("/data/{x}/train.csv", FOREBAY_MANIFEST);
  options.fields = names;
  options.field_count = 1;
  DatasetPlace place;
  EXPECT_EQ(FindPlace(options, &place).code, FOREBAY_INVALID_ARGUMENT);
  options.columns = names;
  place = Found(options);
  EXPECT_EQ(place.folder, "/data/{x}");
  EXPECT_EQ(place.manifest, "train.csv");
  options.fields = nullptr;
  EXPECT_EQ(FindPlace(options, &place).code, FOREBAY_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace forebay::client
