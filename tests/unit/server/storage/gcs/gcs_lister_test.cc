#include "server/storage/gcs/gcs_lister.h"

#include <algorithm>
#include <latch>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/storage/http/engine.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/gcs/gcs_server.h"
#include "tests/unit/server/storage/http/fault_choice.h"

namespace forebay::storage::gcs {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

class GcsListerTest {
 protected:
  GcsListerTest()
      : engine_(*http::Engine::Create()),
        client_(engine_.get(), Options(), 1),
        lister_(&client_, nullptr, "no credentials"),
        root_(*GcsRoot::Create("gs://bucket/p", server_.url())) {}

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

  GcsServer server_{3};
  const std::unique_ptr<http::Engine> engine_;
  http::Client client_;
  GcsLister lister_;
  const std::shared_ptr<const GcsRoot> root_;
};

TEST_CASE_METHOD(GcsListerTest, "The GCS lister lists folders side by side",
                 "[gcs][gcs_lister]") {
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

TEST_CASE_METHOD(GcsListerTest,
                 "A flaky server changes nothing in what the GCS lister lists",
                 "[gcs][gcs_lister]") {
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

TEST_CASE_METHOD(GcsListerTest,
                 "An empty place has no objects for the GCS lister",
                 "[gcs][gcs_lister]") {
  const auto names = List(*root_);
  REQUIRE_THAT(names, IsOk());
  CHECK(names->empty());
}

TEST_CASE_METHOD(GcsListerTest, "The GCS lister tells of one object",
                 "[gcs][gcs_lister]") {
  const std::int64_t generation = server_.Put("p/a b", "four");
  const auto version = lister_.Stat(*root_, "a b", {});
  REQUIRE_THAT(version, IsOk());
  CHECK(version->size == 4);
  CHECK(version->stamp == generation);
  CHECK(lister_.Stat(*root_, "c", {}).status() ==
        absl::NotFoundError("c: there is no such object"));
  CHECK_THAT(lister_.Stat(*root_, "", {}),
             HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE_METHOD(
    GcsListerTest,
    "The GCS lister says what is wrong with a place that it cannot read",
    "[gcs][gcs_lister]") {
  server_.Put("p/a/1", "x");
  const auto missing = *GcsRoot::Create("gs://nowhere/p", server_.url());
  CHECK(List(*missing).status() ==
        absl::NotFoundError("there is no bucket called nowhere"));
  server_.SetToken("secret");
  for (const absl::Status& denied :
       {List(*root_).status(), lister_.Stat(*root_, "a/1", {}).status()}) {
    CHECK_THAT(denied, HasCode(absl::StatusCode::kPermissionDenied));
    CHECK_THAT(denied.message(), Contains("; asked with no credentials"));
  }
}

TEST_CASE_METHOD(GcsListerTest,
                 "The GCS lister stops while it waits for an answer",
                 "[gcs][gcs_lister]") {
  server_.Put("p/a/1", "x");
  std::latch asked(1);
  std::latch over(1);
  const auto faults = server_.SetFaults([&](const GcsServer::Asked&) {
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
}  // namespace forebay::storage::gcs
