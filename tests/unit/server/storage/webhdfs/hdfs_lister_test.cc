#include "server/storage/webhdfs/hdfs_lister.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/mutex.h"
#include "server/storage/http/engine.h"
#include "server/storage/webhdfs/hdfs_root.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/http/fault_choice.h"
#include "tests/unit/server/storage/webhdfs/hdfs_server.h"

namespace forebay::storage::webhdfs {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

class HdfsListerTest {
 protected:
  HdfsListerTest()
      : engine_(*http::Engine::Create()),
        client_(engine_.get(), Options(), 1),
        lister_(&client_),
        root_(RootAt("/p")) {}

  static http::RetryOptions Options() {
    http::RetryOptions options;
    options.first_delay_nanos = 0;
    options.max_asked_nanos = 0;
    return options;
  }

  std::shared_ptr<const HdfsRoot> RootAt(const std::string& path) {
    return *HdfsRoot::Create("webhdfs://" + server_.authority() + path, {});
  }

  // Lists names by folder, in the order in which they came.
  absl::StatusOr<std::map<std::string, std::vector<std::string>>> List(
      const Root& root) {
    base::Mutex mutex;
    std::map<std::string, std::vector<std::string>> names;
    const absl::Status status = lister_.List(
        root,
        [&](ListedObject object) {
          base::MutexLock lock(&mutex);
          const std::size_t slash = object.name.find('/');
          const std::string folder =
              slash == object.name.npos ? "" : object.name.substr(0, slash);
          names[folder].push_back(std::move(object.name));
        },
        {});
    if (!status.ok()) return status;
    return names;
  }

  // Puts files into some folders, and returns the lists of these folders.
  std::map<std::string, std::vector<std::string>> Fill() {
    std::map<std::string, std::vector<std::string>> expected;
    const auto put = [&](const std::string& folder, const std::string& name) {
      expected[folder].push_back(name);
      server_.Put("/p/" + name, "x");
    };
    for (int folder = 0; folder < 20; ++folder) {
      const std::string name = "f" + std::to_string(folder);
      for (int i = 0; i < 7; ++i)
        put(name, name + "/" + (i % 2 ? "sub/" : "") + std::to_string(i));
      // These names sort just before and after those in the folder with a
      // similar name.
      for (const char* other : {"/sub-", "/sub.jpg", "/sub0", "/sub/ü/1"})
        put(name, name + other);
    }
    for (int i = 0; i < 5; ++i) put("", "object" + std::to_string(i));
    for (auto& [folder, names] : expected)
      std::sort(names.begin(), names.end());
    server_.Put("/other/f1/1", "x");
    return expected;
  }

  HdfsServer server_{3};
  const std::unique_ptr<http::Engine> engine_;
  http::Client client_;
  HdfsLister lister_;
  const std::shared_ptr<const HdfsRoot> root_;
};

TEST_CASE_METHOD(HdfsListerTest, "An HDFS lister lists folders in parts",
                 "[webhdfs][hdfs_lister]") {
  const auto expected = Fill();
  const auto names = List(*root_);
  REQUIRE_THAT(names, IsOk());
  CHECK(*names == expected);
}

TEST_CASE_METHOD(HdfsListerTest,
                 "An HDFS lister lists whole folders of servers without parts",
                 "[webhdfs][hdfs_lister]") {
  const auto expected = Fill();
  server_.ForgetParts();
  const auto names = List(*root_);
  REQUIRE_THAT(names, IsOk());
  CHECK(*names == expected);
}

TEST_CASE_METHOD(
    HdfsListerTest,
    "An HDFS lister makes versions of checksums where files have no numbers",
    "[webhdfs][hdfs_lister]") {
  for (const bool has_checksums : {true, false}) {
    server_.ForgetNumbers(has_checksums);
    const ObjectVersion one = server_.Put("/p/a", "one");
    CHECK(*lister_.Stat(*root_, "a", {}) == one);
    base::Mutex mutex;
    std::map<std::string, ObjectVersion> listed;
    const ObjectVersion below = server_.Put("/p/f/b", "below");
    REQUIRE_THAT(lister_.List(*root_,
                              [&](const ListedObject& object) {
                                base::MutexLock lock(&mutex);
                                listed[object.name] = object.version;
                              },
                              {}),
                 IsOk());
    CHECK(listed ==
          std::map<std::string, ObjectVersion>{{"a", one}, {"f/b", below}});
    // Another file has the same size and modification time.
    server_.Put("/p/a", "two");
    CHECK((*lister_.Stat(*root_, "a", {}) == one) == !has_checksums);
  }
}

TEST_CASE_METHOD(HdfsListerTest,
                 "An HDFS lister does not take a file for a folder",
                 "[webhdfs][hdfs_lister]") {
  server_.Put("/p/a", "x");
  CHECK(List(*RootAt("/p/a")).status() ==
        absl::InvalidArgumentError("is a file, and no folder"));
}

TEST_CASE_METHOD(HdfsListerTest,
                 "A flaky server changes nothing in what an HDFS lister lists",
                 "[webhdfs][hdfs_lister]") {
  const auto expected = Fill();
  const auto faults = server_.SetFaults(http::FirstAnswersSpoilt());
  const auto names = List(*root_);
  REQUIRE_THAT(names, IsOk());
  CHECK(*names == expected);
}

TEST_CASE_METHOD(HdfsListerTest, "An HDFS lister tells of one file",
                 "[webhdfs][hdfs_lister]") {
  const ObjectVersion put = server_.Put("/p/a b", "four");
  const auto version = lister_.Stat(*root_, "a b", {});
  REQUIRE_THAT(version, IsOk());
  CHECK(*version == put);
  CHECK(version->size == 4);
  CHECK(lister_.Stat(*root_, "c", {}).status() ==
        absl::NotFoundError("c: there is no such object"));
  server_.Put("/p/folder/x", "x");
  CHECK(lister_.Stat(*root_, "folder", {}).status() ==
        absl::NotFoundError("folder: is a folder, and no file"));
}

TEST_CASE_METHOD(HdfsListerTest, "An HDFS lister says what is wrong",
                 "[webhdfs][hdfs_lister]") {
  CHECK(List(*RootAt("/nowhere")).status() ==
        absl::NotFoundError("there is no such folder"));
  server_.Put("/p/a/1", "x");
  server_.SetToken("secret");
  CHECK_THAT(List(*root_), HasCode(absl::StatusCode::kPermissionDenied));
  const auto member =
      *HdfsRoot::Create("hdfs:///p", {server_.url(), "", "secret"});
  CHECK_THAT(List(*member), IsOk());
}

TEST_CASE_METHOD(HdfsListerTest, "An HDFS lister gives up a list without end",
                 "[webhdfs][hdfs_lister]") {
  server_.SetAnswer({200, "", R"({"DirectoryListing": {"remainingEntries": 1,
            "partialListing": {"FileStatuses": {"FileStatus": [
              {"pathSuffix": "a", "type": "FILE", "length": 1,
               "modificationTime": 1}]}}}})"});
  CHECK_THAT(List(*root_), HasCode(absl::StatusCode::kDataLoss));
  // Each part claims that fewer entries follow than before, but has no new
  // entries.
  for (const std::string entry :
       {"", R"({"pathSuffix": "a", "type": "SYMLINK"})"}) {
    std::atomic<std::int64_t> left = INT64_MAX;
    const http::HttpServer server(
        [&](const HdfsServer::Asked&, http::HttpServer::Peer& peer) {
          peer.Answer(
              200, "",
              absl::StrCat(R"({"DirectoryListing": {"partialListing":
                          {"FileStatuses": {"FileStatus": [)",
                           entry, "]}}, \"remainingEntries\": ", --left, "}}"));
        });
    const auto root =
        *HdfsRoot::Create("webhdfs://" + server.url().substr(7) + "/p", {});
    CHECK_THAT(List(*root).status().message(),
               Contains("do not come to an end"));
  }
  // Each folder contains another folder.
  server_.SetAnswer({200, "", R"({"FileStatuses": {"FileStatus": [
                       {"pathSuffix": "a", "type": "DIRECTORY"}]}})"});
  CHECK_THAT(List(*root_).status().message(), Contains("too deep"));
}

}  // namespace
}  // namespace forebay::storage::webhdfs
