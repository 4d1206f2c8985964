#include "server/storage/s3/s3_lister.h"

#include <algorithm>
#include <atomic>
#include <latch>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "server/base/mutex.h"
#include "server/storage/http/engine.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/http/fault_choice.h"
#include "tests/unit/server/storage/s3/s3_server.h"

namespace forebay::storage::s3 {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

class S3ListerTest {
 protected:
  S3ListerTest()
      : engine_(*http::Engine::Create()),
        client_(engine_.get(), Options(), 1),
        lister_(&client_, nullptr, &tags_,
                [] { return std::string("no credentials"); }),
        root_(*S3Root::Create("s3://bucket/p", server_.endpoint())) {}

  static http::RetryOptions Options() {
    http::RetryOptions options;
    options.first_delay_nanos = 0;
    options.max_asked_nanos = 0;
    return options;
  }

  // Lists names by folder, in the order in which they came.
  absl::StatusOr<std::map<std::string, std::vector<std::string>>> List(
      const Root& root, const std::stop_token& stop = {}) {
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
        stop);
    if (!status.ok()) return status;
    return names;
  }

  S3Server server_{3};
  const std::unique_ptr<http::Engine> engine_;
  http::Client client_;
  http::EntityTags tags_;
  S3Lister lister_;
  const std::shared_ptr<const S3Root> root_;
};

TEST_CASE_METHOD(S3ListerTest, "The S3 lister lists folders side by side",
                 "[s3][s3_lister]") {
  std::map<std::string, std::vector<std::string>> expected;
  const auto put = [&](const std::string& folder, const std::string& name) {
    expected[folder].push_back(name);
    server_.Put("p/" + name, "x");
  };
  for (int folder = 0; folder < 40; ++folder) {
    const std::string name = "f" + std::to_string(folder);
    for (int i = 0; i < 7; ++i)
      put(name, name + "/" + (i % 2 ? "sub/" : "") + std::to_string(i));
  }
  for (int i = 0; i < 5; ++i) put("", "object" + std::to_string(i));
  for (auto& [folder, names] : expected) std::sort(names.begin(), names.end());
  server_.Put("other/f1/1", "x");
  server_.Put("p/f1/", "");

  const auto names = List(*root_);
  REQUIRE_THAT(names, IsOk());
  CHECK(*names == expected);
}

TEST_CASE_METHOD(S3ListerTest,
                 "A flaky server changes nothing in what the S3 lister lists",
                 "[s3][s3_lister]") {
  for (int folder = 0; folder < 10; ++folder)
    for (int i = 0; i < 9; ++i)
      server_.Put("p/" + std::to_string(folder) + "/" + std::to_string(i), "x");
  const auto expected = List(*root_);
  REQUIRE_THAT(expected, IsOk());
  const auto faults = server_.SetFaults(http::FirstAnswersSpoilt());
  const auto names = List(*root_);
  REQUIRE_THAT(names, IsOk());
  CHECK(*names == *expected);
}

TEST_CASE_METHOD(S3ListerTest,
                 "An empty place has no objects for the S3 lister",
                 "[s3][s3_lister]") {
  const auto names = List(*root_);
  REQUIRE_THAT(names, IsOk());
  CHECK(names->empty());
}

TEST_CASE_METHOD(S3ListerTest, "The S3 lister tells of one object",
                 "[s3][s3_lister]") {
  const std::int64_t stamp = server_.Put("p/a b", "four");
  const auto version = lister_.Stat(*root_, "a b", {});
  REQUIRE_THAT(version, IsOk());
  CHECK(version->size == 4);
  CHECK(version->stamp == stamp);
  CHECK(lister_.Stat(*root_, "c", {}).status() ==
        absl::NotFoundError("c: there is no such object"));
  CHECK_THAT(lister_.Stat(*root_, "", {}),
             HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE_METHOD(
    S3ListerTest,
    "The S3 lister says what is wrong with a place that it cannot read",
    "[s3][s3_lister]") {
  server_.Put("p/a/1", "x");
  const auto missing = *S3Root::Create("s3://nowhere/p", server_.endpoint());
  CHECK(List(*missing).status() ==
        absl::NotFoundError("there is no bucket called nowhere"));
  server_.SetKeys({"id", "secret", ""});
  for (const absl::Status& denied :
       {List(*root_).status(), lister_.Stat(*root_, "a/1", {}).status()}) {
    CHECK_THAT(denied, HasCode(absl::StatusCode::kPermissionDenied));
    CHECK_THAT(denied.message(), Contains("; asked with no credentials"));
  }
}

TEST_CASE_METHOD(S3ListerTest,
                 "The S3 lister ends a list without end with an error",
                 "[s3][s3_lister]") {
  // The pages are empty, or contain one of two folders in turns. Each page
  // names a next page with a new token.
  for (const std::vector<std::string>& folders :
       std::vector<std::vector<std::string>>{{}, {"a/", "b/"}}) {
    std::atomic<std::size_t> asked = 0;
    const http::HttpServer server(
        [&](const S3Server::Asked&, http::HttpServer::Peer& peer) {
          const std::size_t number = asked++;
          const std::string item =
              folders.empty() ? ""
                              : absl::StrCat("<CommonPrefixes><Prefix>p/",
                                             folders[number % folders.size()],
                                             "</Prefix></CommonPrefixes>");
          peer.Answer(
              200, "",
              absl::StrCat("<ListBucketResult>", item,
                           "<IsTruncated>true</IsTruncated>",
                           "<NextContinuationToken>", number,
                           "</NextContinuationToken>", "</ListBucketResult>"));
        });
    const auto root =
        *S3Root::Create("s3://bucket/p", Endpoint{server.url(), "us-east-1"});
    CHECK_THAT(List(*root), HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE_METHOD(S3ListerTest,
                 "The S3 lister lists folders once that are said twice",
                 "[s3][s3_lister]") {
  const http::HttpServer server([](const S3Server::Asked& asked,
                                   http::HttpServer::Peer& peer) {
    const bool is_first = asked.target.find("token=") == asked.target.npos;
    if (asked.target.find("delimiter") == asked.target.npos)
      return peer.Answer(200, "",
                         "<ListBucketResult><Contents><Key>p/a/1</Key>"
                         "<ETag>t</ETag><Size>1</Size></Contents>"
                         "</ListBucketResult>");
    peer.Answer(200, "",
                absl::StrCat("<ListBucketResult><CommonPrefixes><Prefix>p/a/",
                             "</Prefix></CommonPrefixes>",
                             is_first ? "<IsTruncated>true</IsTruncated>"
                                        "<NextContinuationToken>2"
                                        "</NextContinuationToken>"
                                      : "",
                             "</ListBucketResult>"));
  });
  const auto root =
      *S3Root::Create("s3://bucket/p", Endpoint{server.url(), "us-east-1"});
  const auto names = List(*root);
  REQUIRE_THAT(names, IsOk());
  CHECK(*names ==
        std::map<std::string, std::vector<std::string>>{{"a", {"a/1"}}});
}

TEST_CASE_METHOD(S3ListerTest,
                 "The S3 lister stops while it waits for an answer",
                 "[s3][s3_lister]") {
  server_.Put("p/a/1", "x");
  std::latch asked(1);
  std::latch over(1);
  const auto faults = server_.SetFaults([&](const S3Server::Asked&) {
    asked.count_down();
    over.wait();
    return http::Fault::kNone;
  });
  std::stop_source stop;
  std::jthread stopper([&] {
    asked.wait();
    stop.request_stop();
  });
  CHECK_THAT(List(*root_, stop.get_token()),
             HasCode(absl::StatusCode::kCancelled));
  over.count_down();
  stopper.join();
}

}  // namespace
}  // namespace forebay::storage::s3
