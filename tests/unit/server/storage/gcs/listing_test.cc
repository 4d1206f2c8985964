#include "server/storage/gcs/listing.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/storage/http/engine.h"
#include "tests/unit/server/storage/gcs/gcs_server.h"

namespace forebay::storage::gcs {
namespace {

TEST(ParseListPageTest, ReadsAPage) {
  const auto page = ParseListPage(
      R"({"kind": "storage#objects", "nextPageToken": "CgNh",
          "items": [
            {"name": "p/", "size": "0", "generation": "3"},
            {"name": "p/x", "size": "18446744073709551615",
             "generation": "9223372036854775807", "other": {"a": [1]}},
            {"name": "p/folder/", "size": "0", "generation": "3"},
            {"name": "p/ü y", "size": "0", "generation": "1"}]})",
      "p/");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->next_token, "CgNh");
  ASSERT_EQ(page->objects.size(), 2);
  EXPECT_EQ(page->objects[0].name, "x");
  EXPECT_EQ(page->objects[0].version.size, UINT64_MAX);
  EXPECT_EQ(page->objects[0].version.stamp, INT64_MAX);
  EXPECT_EQ(page->objects[1].name, "ü y");
}

TEST(ParseListPageTest, AnEmptyListHasNoItems) {
  const auto page = ParseListPage(R"({"kind": "storage#objects"})", "");
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(page->objects.empty());
  EXPECT_EQ(page->next_token, "");
}

TEST(ParseListPageTest, ChecksEveryField) {
  for (const char* json :
       {"", "[]", "null", "{", "\"x\"", R"({"items": {}})", R"({"items": [1]})",
        R"({"nextPageToken": 3})", R"({"items": [{}]})",
        R"({"items": [{"name": 3, "size": "1", "generation": "1"}]})",
        R"({"items": [{"name": "", "size": "1", "generation": "1"}]})",
        R"({"items": [{"name": "q", "size": "1", "generation": "1"}]})",
        R"({"items": [{"name": "p/a", "generation": "1"}]})",
        R"({"items": [{"name": "p/a", "size": 1, "generation": "1"}]})",
        R"({"items": [{"name": "p/a", "size": "-1", "generation": "1"}]})",
        R"({"items": [{"name": "p/a", "size": "1"}]})",
        R"({"items": [{"name": "p/a", "size": "1", "generation": "0"}]})",
        R"({"items": [{"name": "p/a", "size": "1", "generation": "x"}]})"}) {
    const auto page = ParseListPage(json, "p/");
    EXPECT_EQ(page.status().code(), absl::StatusCode::kDataLoss) << json;
  }
}

TEST(ParseListPageTest, RefusesWhatNestsDeep) {
  const auto page = [](int depth) {
    return R"({"other": )" + std::string(depth, '[') + std::string(depth, ']') +
           "}";
  };
  EXPECT_TRUE(ParseListPage(page(63), "").ok());
  for (const int depth : {64, 100'000}) {
    const absl::Status status = ParseListPage(page(depth), "").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(status.message(),
              "the list of objects is broken: a page is nested more than 64 "
              "deep");
    EXPECT_EQ(ParseObject(page(depth), "").status().code(),
              absl::StatusCode::kDataLoss);
  }
}

class ListObjectsTest : public ::testing::Test {
 protected:
  ListObjectsTest()
      : engine_(*http::Engine::Create()),
        client_(engine_.get(), Options(), 1),
        root_(*GcsRoot::Create("gs://bucket/p", server_.url())) {}

  static http::RetryOptions Options() {
    http::RetryOptions options;
    options.attempts = 4;
    options.first_delay_nanos = 0;
    return options;
  }

  absl::Status List(const GcsRoot& root) {
    got_.clear();
    return ListObjects(&client_, nullptr, root,
                       [this](const ListedObject& object) {
                         got_.push_back(object.name);
                         return got_.size() < limit_;
                       });
  }

  GcsServer server_{3};
  const std::unique_ptr<http::Engine> engine_;
  http::Client client_;
  const std::shared_ptr<const GcsRoot> root_;
  std::size_t limit_ = SIZE_MAX;
  std::vector<std::string> got_;
};

TEST_F(ListObjectsTest, GoesThroughAllPages) {
  std::vector<std::string> names;
  for (int i = 0; i < 10; ++i) {
    names.push_back("o" + std::to_string(i) + " &?/ü");
    server_.Put("p/" + names.back(), "x");
    server_.Put("q/" + names.back(), "x");
  }
  ASSERT_TRUE(List(*root_).ok());
  EXPECT_EQ(got_, names);
  EXPECT_EQ(server_.asked(), 4);
  limit_ = 2;
  ASSERT_TRUE(List(*root_).ok());
  EXPECT_EQ(got_.size(), 2);
  EXPECT_EQ(server_.asked(), 5);
}

TEST_F(ListObjectsTest, BrokenPagesAreAskedForAgain) {
  for (int i = 0; i < 10; ++i) server_.Put("p/" + std::to_string(i), "x");
  std::atomic<int> asked = 0;
  const auto faults = server_.SetFaults([&asked](const GcsServer::Asked&) {
    constexpr http::Fault kFaults[] = {
        http::Fault::kNoRange,  // the page, and then more: no JSON
        http::Fault::kTruncate, http::Fault::k503, http::Fault::kNone};
    return kFaults[asked++ % 4];
  });
  const absl::Status status = List(*root_);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(got_.size(), 10);
}

TEST_F(ListObjectsTest, NamesWhatIsWrong) {
  const auto other = *GcsRoot::Create("gs://missing", server_.url());
  EXPECT_EQ(List(*other), absl::NotFoundError("there is no such object"));
  server_.SetToken("secret");
  const absl::Status denied = List(*root_);
  EXPECT_EQ(denied.code(), absl::StatusCode::kPermissionDenied) << denied;
}

TEST_F(ListObjectsTest, AListWithoutEndEnds) {
  const http::HttpServer server(
      [](const http::HttpServer::Asked&, http::HttpServer::Peer& peer) {
        peer.Answer(200, "", R"({"nextPageToken": "again"})");
      });
  const auto root = *GcsRoot::Create("gs://bucket", server.url());
  EXPECT_EQ(List(*root).code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace forebay::storage::gcs
