#include "client/wire/dataset_location.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace forebay::client::wire {
namespace {

forebay_loader_options Options(const char* uri, forebay_format format) {
  forebay_loader_options options = {};
  options.uri = uri;
  options.format = format;
  return options;
}

DatasetLocation Found(const forebay_loader_options& options) {
  DatasetLocation location;
  const Status status = LocateDataset(options, &location);
  EXPECT_TRUE(status.ok()) << status.message;
  return location;
}

TEST(DatasetLocationTest, AFolderIsItself) {
  forebay_loader_options options =
      Options("/data/{odd}*.tar", FOREBAY_IMAGE_FOLDER);
  EXPECT_EQ(Found(options).uri, "/data/{odd}*.tar");
  EXPECT_EQ(Found(options).folder, "/data/{odd}*.tar");
  options.root = "/elsewhere";
  EXPECT_EQ(Found(options).uri, "/data/{odd}*.tar");
  EXPECT_EQ(Found(options).folder, "/elsewhere");
}

TEST(DatasetLocationTest, ShardsLieInTheLongestFolderWithoutWildcards) {
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
    const DatasetLocation location = Found(Options(c.uri, FOREBAY_WEBDATASET));
    EXPECT_EQ(location.folder, c.folder) << c.uri;
    EXPECT_EQ(location.uri, c.folder) << c.uri;
    EXPECT_EQ(location.shards, std::vector<std::string>{c.shards}) << c.uri;
  }
}

TEST(DatasetLocationTest, ShardsMayBeNamedBelowARoot) {
  const char* const shards[] = {"a.tar", "b-*.tar"};
  forebay_loader_options options = Options("mine", FOREBAY_WEBDATASET);
  options.shards = shards;
  options.shard_count = 2;
  DatasetLocation location;
  EXPECT_EQ(LocateDataset(options, &location).code, FOREBAY_INVALID_ARGUMENT);
  options.root = "/data";
  location = Found(options);
  EXPECT_EQ(location.uri, "mine");
  EXPECT_EQ(location.folder, "/data");
  EXPECT_EQ(location.shards, (std::vector<std::string>{"a.tar", "b-*.tar"}));
  options.shards = nullptr;
  EXPECT_EQ(LocateDataset(options, &location).code, FOREBAY_INVALID_ARGUMENT);
}

TEST(DatasetLocationTest, NpyFilesAreNamedAsShardsAre) {
  DatasetLocation location =
      Found(Options("/data/{00..12}/x-*.npy", FOREBAY_NPY));
  EXPECT_EQ(location.folder, "/data");
  EXPECT_EQ(location.shards, std::vector<std::string>{"{00..12}/x-*.npy"});
  const char* const files[] = {"a.npy", "b.npy"};
  forebay_loader_options options = Options("mine", FOREBAY_NPY);
  options.shards = files;
  options.shard_count = 2;
  EXPECT_EQ(LocateDataset(options, &location).code, FOREBAY_INVALID_ARGUMENT);
  options.root = "/data";
  location = Found(options);
  EXPECT_EQ(location.uri, "mine");
  EXPECT_EQ(location.shards, (std::vector<std::string>{"a.npy", "b.npy"}));
}

TEST(DatasetLocationTest, ArchivesHaveAFolderBehindTheirPath) {
  forebay_loader_options options =
      Options("/data/{0..3}.zip/a/train", FOREBAY_ZIP);
  options.folder = "a/train";
  DatasetLocation location = Found(options);
  EXPECT_EQ(location.folder, "/data");
  EXPECT_EQ(location.shards, std::vector<std::string>{"{0..3}.zip"});
  EXPECT_EQ(location.inner_folder, "a/train");
  options.folder = "train2";
  EXPECT_EQ(LocateDataset(options, &location).code, FOREBAY_INVALID_ARGUMENT);
  options.folder = "data/{0..3}.zip/a/train";
  EXPECT_EQ(LocateDataset(options, &location).code, FOREBAY_INVALID_ARGUMENT);
  const char* const files[] = {"a.zip", "b.zip"};
  options.shards = files;
  options.shard_count = 2;
  options.root = "/data";
  options.folder = "train";
  location = Found(options);
  EXPECT_EQ(location.shards, (std::vector<std::string>{"a.zip", "b.zip"}));
  EXPECT_EQ(location.inner_folder, "train");
  location = Found(Options("/data/a.zip", FOREBAY_ZIP));
  EXPECT_EQ(location.shards, std::vector<std::string>{"a.zip"});
  EXPECT_EQ(location.inner_folder, "");
}

TEST(DatasetLocationTest, AManifestLiesInItsFolder) {
  const char* const names[] = {"image"};
  forebay_loader_options options =
      Options("/data/{x}/train.csv", FOREBAY_MANIFEST);
  options.fields = names;
  options.field_count = 1;
  DatasetLocation location;
  EXPECT_EQ(LocateDataset(options, &location).code, FOREBAY_INVALID_ARGUMENT);
  options.columns = names;
  location = Found(options);
  EXPECT_EQ(location.folder, "/data/{x}");
  EXPECT_EQ(location.manifest, "train.csv");
  options.fields = nullptr;
  EXPECT_EQ(LocateDataset(options, &location).code, FOREBAY_INVALID_ARGUMENT);
}

TEST(DatasetLocationTest, ATableHasTheFolderOfItsImages) {
  const char* const names[] = {"image"};
  forebay_loader_options options = Options("/data/{x}.csv", FOREBAY_MANIFEST);
  options.fields = names;
  options.field_count = 1;
  DatasetLocation location;
  EXPECT_EQ(LocateTable(options, &location).code, FOREBAY_INVALID_ARGUMENT);
  options.columns = names;
  ASSERT_TRUE(LocateTable(options, &location).ok());
  EXPECT_EQ(location.folder, "/data/{x}.csv");
  EXPECT_EQ(location.uri, "/data/{x}.csv");
  EXPECT_EQ(location.manifest, "");
  options.root = "/elsewhere";
  ASSERT_TRUE(LocateTable(options, &location).ok());
  EXPECT_EQ(location.folder, "/elsewhere");
  options.fields = nullptr;
  EXPECT_EQ(LocateTable(options, &location).code, FOREBAY_INVALID_ARGUMENT);
  options.fields = names;
  options.format = FOREBAY_WEBDATASET;
  EXPECT_EQ(LocateTable(options, &location).code, FOREBAY_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace forebay::client::wire
