#include "server/storage/http/http_lister.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/storage/http/engine.h"
#include "server/storage/http/http_root.h"
#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::http {
namespace {

using ::testing::HasSubstr;

class HttpListerTest : public ::testing::Test {
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

TEST_F(HttpListerTest, TellsOfOneObject) {
  const auto one = lister_.Stat(*root_, "a/b", {});
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->size, 5);
  headers_ = "ETag: \"y\"\r\n";
  EXPECT_NE(lister_.Stat(*root_, "a/b", {})->stamp, one->stamp);
}

TEST_F(HttpListerTest, SaysWhatIsWrong) {
  EXPECT_EQ(lister_.Stat(*root_, "missing", {}).status(),
            absl::NotFoundError("missing: there is no such object"));
  headers_ = "";
  EXPECT_THAT(
      std::string(lister_.Stat(*root_, "a", {}).status().message()),
      HasSubstr("a: the server tells neither an ETag nor when it was last"));
  const absl::Status list =
      lister_.List(*root_, [](const ListedObject&) {}, {});
  EXPECT_EQ(list, absl::UnimplementedError(
                      "a web server does not list its files: name them"));
}

TEST_F(HttpListerTest, LinkLocalPlacesAreNotRead) {
  for (const char* url :
       {"http://169.254.169.254/computeMetadata", "http://[fe80::1]/x",
        "http://metadata.google.internal", "https://METADATA/",
        "http://2852039166/", "http://0xa9fea9fe"})
    EXPECT_EQ(HttpRoot::Create(url).status().code(),
              absl::StatusCode::kInvalidArgument)
        << url;
}

}  // namespace
}  // namespace forebay::storage::http
