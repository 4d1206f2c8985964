#include "client/wire/dataset_location.h"

#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::client::wire {
namespace {

using tests::IsOk;

forebay_loader_options Options(const char* uri, forebay_format format) {
  forebay_loader_options options = {};
  options.uri = uri;
  options.format = format;
  return options;
}

DatasetLocation Found(const forebay_loader_options& options) {
  DatasetLocation location;
  const Status status = LocateDataset(options, &location);
  CAPTURE(status.message);
  CHECK_THAT(status, IsOk());
  return location;
}

TEST_CASE("The location of a folder dataset is the folder itself",
          "[wire][dataset_location]") {
  forebay_loader_options options =
      Options("/data/{odd}*.tar", FOREBAY_IMAGE_FOLDER);
  CHECK(Found(options).uri == "/data/{odd}*.tar");
  CHECK(Found(options).folder == "/data/{odd}*.tar");
  options.root = "/elsewhere";
  CHECK(Found(options).uri == "/data/{odd}*.tar");
  CHECK(Found(options).folder == "/elsewhere");
}

TEST_CASE("A dataset's files lie in the longest folder without wildcards",
          "[wire][dataset_location]") {
  struct Case {
    const char* uri;
    const char* folder;
    const char* files;
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
    CAPTURE(c.uri);
    CHECK(location.folder == c.folder);
    CHECK(location.uri == c.folder);
    CHECK(location.files == std::vector<std::string>{c.files});
  }
}

TEST_CASE("A dataset's files may be named below a root",
          "[wire][dataset_location]") {
  const char* const shards[] = {"a.tar", "b-*.tar"};
  forebay_loader_options options = Options("mine", FOREBAY_WEBDATASET);
  options.shards = shards;
  options.shard_count = 2;
  DatasetLocation location;
  const Status refusal = LocateDataset(options, &location);
  CHECK(refusal.code == FOREBAY_INVALID_ARGUMENT);
  CHECK(refusal.message ==
        "files (`shards`) need the folder that they lie in (`root`)");
  options.root = "/data";
  location = Found(options);
  CHECK(location.uri == "mine");
  CHECK(location.folder == "/data");
  CHECK(location.files == std::vector<std::string>{"a.tar", "b-*.tar"});
  options.shards = nullptr;
  CHECK(LocateDataset(options, &location).code == FOREBAY_INVALID_ARGUMENT);
}

TEST_CASE("A dataset's .npy files are named as tar files are",
          "[wire][dataset_location]") {
  DatasetLocation location =
      Found(Options("/data/{00..12}/x-*.npy", FOREBAY_NPY));
  CHECK(location.folder == "/data");
  CHECK(location.files == std::vector<std::string>{"{00..12}/x-*.npy"});
  const char* const files[] = {"a.npy", "b.npy"};
  forebay_loader_options options = Options("mine", FOREBAY_NPY);
  options.shards = files;
  options.shard_count = 2;
  CHECK(LocateDataset(options, &location).code == FOREBAY_INVALID_ARGUMENT);
  options.root = "/data";
  location = Found(options);
  CHECK(location.uri == "mine");
  CHECK(location.files == std::vector<std::string>{"a.npy", "b.npy"});
}

TEST_CASE("A dataset's archives have a folder behind their path",
          "[wire][dataset_location]") {
  forebay_loader_options options =
      Options("/data/{0..3}.zip/a/train", FOREBAY_ZIP);
  options.folder = "a/train";
  DatasetLocation location = Found(options);
  CHECK(location.folder == "/data");
  CHECK(location.files == std::vector<std::string>{"{0..3}.zip"});
  CHECK(location.inner_folder == "a/train");
  options.folder = "train2";
  CHECK(LocateDataset(options, &location).code == FOREBAY_INVALID_ARGUMENT);
  options.folder = "data/{0..3}.zip/a/train";
  CHECK(LocateDataset(options, &location).code == FOREBAY_INVALID_ARGUMENT);
  const char* const files[] = {"a.zip", "b.zip"};
  options.shards = files;
  options.shard_count = 2;
  options.root = "/data";
  options.folder = "train";
  location = Found(options);
  CHECK(location.files == std::vector<std::string>{"a.zip", "b.zip"});
  CHECK(location.inner_folder == "train");
  location = Found(Options("/data/a.zip", FOREBAY_ZIP));
  CHECK(location.files == std::vector<std::string>{"a.zip"});
  CHECK_THAT(location.inner_folder, Catch::Equals(""));
}

TEST_CASE("A dataset's manifest lies in its folder",
          "[wire][dataset_location]") {
  const char* const names[] = {"image"};
  forebay_loader_options options =
      Options("/data/{x}/train.csv", FOREBAY_MANIFEST);
  options.fields = names;
  options.field_count = 1;
  DatasetLocation location;
  CHECK(LocateDataset(options, &location).code == FOREBAY_INVALID_ARGUMENT);
  options.columns = names;
  location = Found(options);
  CHECK(location.folder == "/data/{x}");
  CHECK(location.manifest == "train.csv");
  options.fields = nullptr;
  CHECK(LocateDataset(options, &location).code == FOREBAY_INVALID_ARGUMENT);
}

TEST_CASE("A dataset's table has the folder of its images",
          "[wire][dataset_location]") {
  const char* const names[] = {"image"};
  forebay_loader_options options = Options("/data/{x}.csv", FOREBAY_MANIFEST);
  options.fields = names;
  options.field_count = 1;
  DatasetLocation location;
  CHECK(LocateTable(options, &location).code == FOREBAY_INVALID_ARGUMENT);
  options.columns = names;
  REQUIRE_THAT(LocateTable(options, &location), IsOk());
  CHECK(location.folder == "/data/{x}.csv");
  CHECK(location.uri == "/data/{x}.csv");
  CHECK_THAT(location.manifest, Catch::Equals(""));
  options.root = "/elsewhere";
  REQUIRE_THAT(LocateTable(options, &location), IsOk());
  CHECK(location.folder == "/elsewhere");
  options.fields = nullptr;
  CHECK(LocateTable(options, &location).code == FOREBAY_INVALID_ARGUMENT);
  options.fields = names;
  options.format = FOREBAY_WEBDATASET;
  CHECK(LocateTable(options, &location).code == FOREBAY_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace forebay::client::wire
