#include "server/storage/gcs/gcs_listing.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/storage/http/engine.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/gcs/gcs_server.h"

namespace forebay::storage::gcs {
namespace {

using tests::HasCode;
using tests::IsOk;

TEST_CASE("The parser of a GCS list page reads a page", "[gcs][listing]") {
  const auto page = ParseListPage(
      R"({"kind": "storage#objects", "nextPageToken": "CgNh",
          "items": [
            {"name": "p/", "size": "0", "generation": "3"},
            {"name": "p/x", "size": "18446744073709551615",
             "generation": "9223372036854775807", "other": {"a": [1]}},
            {"name": "p/folder/", "size": "0", "generation": "3"},
            {"name": "p/ü y", "size": "0", "generation": "1"}]})",
      "p/");
  REQUIRE_THAT(page, IsOk());
  CHECK(page->next_token == "CgNh");
  REQUIRE(page->objects.size() == 2);
  CHECK(page->objects[0].name == "x");
  CHECK(page->objects[0].version.size == UINT64_MAX);
  CHECK(page->objects[0].version.stamp == INT64_MAX);
  CHECK(page->objects[1].name == "ü y");
}

TEST_CASE("A GCS list page without items is read as an empty list",
          "[gcs][listing]") {
  const auto page = ParseListPage(R"({"kind": "storage#objects"})", "");
  REQUIRE_THAT(page, IsOk());
  CHECK(page->objects.empty());
  CHECK_THAT(page->next_token, Catch::Equals(""));
}

TEST_CASE("The parser of a GCS list page checks every field",
          "[gcs][listing]") {
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
    CAPTURE(json);
    CHECK_THAT(page, HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE("The parser of a GCS list page refuses what nests deep",
          "[gcs][listing]") {
  const auto page = [](int depth) {
    return R"({"other": )" + std::string(depth, '[') + std::string(depth, ']') +
           "}";
  };
  CHECK_THAT(ParseListPage(page(63), ""), IsOk());
  for (const int depth : {64, 100'000}) {
    const absl::Status status = ParseListPage(page(depth), "").status();
    CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
    CHECK(status.message() ==
          "the list of objects is broken: a page is nested more than 64 "
          "deep");
    CHECK_THAT(ParseObject(page(depth), ""),
               HasCode(absl::StatusCode::kDataLoss));
  }
}

class ListObjectsTest {
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

TEST_CASE_METHOD(ListObjectsTest,
                 "A list of GCS objects goes through all pages",
                 "[gcs][listing]") {
  std::vector<std::string> names;
  for (int i = 0; i < 10; ++i) {
    names.push_back("o" + std::to_string(i) + " &?/ü");
    server_.Put("p/" + names.back(), "x");
    server_.Put("q/" + names.back(), "x");
  }
  REQUIRE_THAT(List(*root_), IsOk());
  CHECK(got_ == names);
  CHECK(server_.asked() == 4);
  limit_ = 2;
  REQUIRE_THAT(List(*root_), IsOk());
  CHECK(got_.size() == 2);
  CHECK(server_.asked() == 5);
}

TEST_CASE_METHOD(ListObjectsTest,
                 "Broken pages of a list of GCS objects are asked for again",
                 "[gcs][listing]") {
  for (int i = 0; i < 10; ++i) server_.Put("p/" + std::to_string(i), "x");
  std::atomic<int> asked = 0;
  const auto faults = server_.SetFaults([&asked](const GcsServer::Asked&) {
    constexpr http::Fault kFaults[] = {
        http::Fault::kNoRange,  // the page and further bytes, which are not
                                // valid JSON
        http::Fault::kTruncate, http::Fault::k503, http::Fault::kNone};
    return kFaults[asked++ % 4];
  });
  const absl::Status status = List(*root_);
  REQUIRE_THAT(status, IsOk());
  CHECK(got_.size() == 10);
}

TEST_CASE_METHOD(ListObjectsTest,
                 "A failed list of GCS objects names what is wrong",
                 "[gcs][listing]") {
  const auto other = *GcsRoot::Create("gs://missing", server_.url());
  CHECK(List(*other) == absl::NotFoundError("there is no such object"));
  server_.SetToken("secret");
  const absl::Status denied = List(*root_);
  CHECK_THAT(denied, HasCode(absl::StatusCode::kPermissionDenied));
}

TEST_CASE_METHOD(ListObjectsTest,
                 "A list of GCS objects without end ends with an error",
                 "[gcs][listing]") {
  const http::HttpServer server(
      [](const http::HttpServer::Asked&, http::HttpServer::Peer& peer) {
        peer.Answer(200, "", R"({"nextPageToken": "again"})");
      });
  const auto root = *GcsRoot::Create("gs://bucket", server.url());
  CHECK_THAT(List(*root), HasCode(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace forebay::storage::gcs
