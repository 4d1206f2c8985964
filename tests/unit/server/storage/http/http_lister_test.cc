#include "server/storage/http/http_lister.h"

#include <memory>
#include <string>

#include "server/storage/http/engine.h"
#include "server/storage/http/http_root.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::http {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

class HttpListerTest {
 protected:
  HttpListerTest()
      : server_([this](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
          if (asked.target == "/missing") return peer.Answer(404, "", "");
          peer.Answer(200, headers_, "12345");
        }),
        engine_(*Engine::Create()),
        client_(engine_.get(), {}, 1),
        lister_(&client_),
        root_(*HttpRoot::Create(server_.url())) {}

  std::string headers_ = "ETag: \"x\"\r\n";
  const HttpServer server_;
  const std::unique_ptr<Engine> engine_;
  Client client_;
  HttpLister lister_;
  const std::shared_ptr<const HttpRoot> root_;
};

TEST_CASE_METHOD(HttpListerTest, "The HTTP lister tells of one object",
                 "[http][http_lister]") {
  const auto one = lister_.Stat(*root_, "a/b", {});
  REQUIRE_THAT(one, IsOk());
  CHECK(one->size == 5);
  headers_ = "ETag: \"y\"\r\n";
  CHECK(lister_.Stat(*root_, "a/b", {})->stamp != one->stamp);
}

TEST_CASE_METHOD(
    HttpListerTest,
    "The HTTP lister says what is wrong with what it cannot tell or list",
    "[http][http_lister]") {
  CHECK(lister_.Stat(*root_, "missing", {}).status() ==
        absl::NotFoundError("missing: there is no such object"));
  headers_ = "";
  CHECK_THAT(
      lister_.Stat(*root_, "a", {}).status().message(),
      Contains("a: the server tells neither an ETag nor when it was last"));
  const absl::Status list =
      lister_.List(*root_, [](const ListedObject&) {}, {});
  CHECK(list == absl::UnimplementedError(
                    "a web server does not list its files: name them"));
}

TEST_CASE_METHOD(HttpListerTest,
                 "HTTP places at link-local addresses are not read",
                 "[http][http_lister]") {
  for (const char* url :
       {"http://169.254.169.254/computeMetadata", "http://[fe80::1]/x",
        "http://metadata.google.internal", "https://METADATA/",
        "http://2852039166/", "http://0xa9fea9fe"}) {
    CAPTURE(url);
    CHECK_THAT(HttpRoot::Create(url),
               HasCode(absl::StatusCode::kInvalidArgument));
  }
}

}  // namespace
}  // namespace forebay::storage::http
