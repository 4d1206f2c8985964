// Tests of reads from a server that follows S3's protocol, and from a server
// that does not.

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/storage/http/client.h"
#include "server/storage/http/engine.h"
#include "server/storage/http/ranged_source.h"
#include "server/storage/s3/s3_protocol.h"
#include "server/storage/s3/s3_root.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/read_text.h"
#include "tests/unit/server/storage/s3/s3_server.h"

namespace forebay::storage::s3 {
namespace {

using tests::HasCode;
using tests::IsOk;

const Endpoint kEndpoint = {"http://e", "us-east-1"};

TEST_CASE("An S3 root takes S3 URIs and makes the URLs of requests from them",
          "[s3][s3_source]") {
  const auto root = *S3Root::Create("s3://my-bucket/a b/c/", kEndpoint);
  CHECK(root->prefix() == "a b/c/");
  CHECK(*root->UrlOf("d/ü+.jpg") ==
        "http://e/my-bucket/a%20b/c/d/%C3%BC%2B.jpg");
  CHECK(*root->UrlOf("d//e\n") == "http://e/my-bucket/a%20b/c/d//e%0A");
  CHECK(root->ListUrl("d/", true, "a=b") ==
        "http://e/my-bucket/?continuation-token=a%3Db&delimiter=%2F&"
        "encoding-type=url&list-type=2&max-keys=1000&"
        "prefix=a%20b%2Fc%2Fd%2F");
  CHECK(root->ListUrl("", false, "") ==
        "http://e/my-bucket/?encoding-type=url&list-type=2&max-keys=1000&"
        "prefix=a%20b%2Fc%2F");
  // Two spellings of one place have the same identity, so they share cached
  // entries.
  CHECK(*root->identity() ==
        *(*S3Root::Create("s3://my-bucket/a b/c", kEndpoint))->identity());
  CHECK(*root->identity() !=
        *(*S3Root::Create("s3://my-bucket/a b", kEndpoint))->identity());
  CHECK(
      *root->identity() !=
      *(*S3Root::Create("s3://my-bucket/a b/c", kEndpoint, "me"))->identity());
  CHECK_THAT((*S3Root::Create("s3://bucket", kEndpoint))->prefix(),
             Catch::Equals(""));
  CHECK_THAT((*S3Root::Create("s3://bucket/", kEndpoint))->prefix(),
             Catch::Equals(""));
}

TEST_CASE("An S3 root refuses what is not an S3 URI or object name",
          "[s3][s3_source]") {
  for (const std::string& uri :
       {std::string("s3://"), std::string("gs://bucket"),
        std::string("s3:///a"), std::string("s3://Bucket"),
        std::string("s3://bu cket"), std::string("s3://b?x=/a"),
        std::string("s3://ab"), std::string("s3://.abc"),
        std::string("s3://abc-"), std::string("s3://a..b"),
        std::string("s3://user@host"), "s3://" + std::string(64, 'a'),
        "s3://bucket/" + std::string(1024, 'a')}) {
    CAPTURE(uri);
    CHECK_THAT(S3Root::Create(uri, kEndpoint),
               HasCode(absl::StatusCode::kInvalidArgument));
  }
  const auto root = *S3Root::Create("s3://bucket/p", kEndpoint);
  for (const std::string& name :
       {std::string(), std::string(1024, 'a'), std::string("a\0b", 3),
        std::string(".."), std::string("../x"), std::string("a/../b"),
        std::string("a/.")}) {
    CAPTURE(name);
    CHECK_THAT(root->UrlOf(name), HasCode(absl::StatusCode::kInvalidArgument));
  }
  CHECK_THAT(root->UrlOf("..."), IsOk());
}

class S3SourceTest {
 protected:
  S3SourceTest()
      : engine_(*http::Engine::Create()),
        client_(engine_.get(), Options(), 1),
        root_(*S3Root::Create("s3://bucket/p", server_.endpoint())),
        source_(std::in_place, &client_, &protocol_, nullptr,
                http::RangedSourceOptions{8, 1000}) {}

  static http::RetryOptions Options() {
    http::RetryOptions options;
    options.attempts = 4;
    options.first_delay_nanos = 0;
    return options;
  }

  ReadRequest Put(const std::string& object, const std::string& content) {
    ReadRequest request;
    request.root = root_;
    request.object = object;
    request.version = {content.size(), server_.Put("p/" + object, content)};
    request.length = content.size();
    return request;
  }

  absl::StatusOr<std::string> Read(ReadRequest request) {
    return ReadText(*source_, std::move(request));
  }

  S3Server server_;
  http::EntityTags tags_;
  const S3Protocol protocol_{&tags_};
  const std::unique_ptr<http::Engine> engine_;
  http::Client client_;
  const std::shared_ptr<const S3Root> root_;
  std::optional<http::RangedSource> source_;
};

constexpr char kChanged[] =
    "a: was replaced or changed since the dataset was indexed";

TEST_CASE_METHOD(S3SourceTest, "An S3 source reads again what came spoilt",
                 "[s3][s3_source]") {
  const std::string content(900, 'x');
  const ReadRequest request = Put("a", content);
  {
    std::atomic<int> left = 1;
    const auto once = server_.SetFaults([&](const S3Server::Asked&) {
      return left-- == 1 ? http::Fault::kBitFlip : http::Fault::kNone;
    });
    CHECK(*Read(request) == content);
    CHECK(left < 0);
  }
  const auto always = server_.SetFaults(
      [](const S3Server::Asked&) { return http::Fault::kBitFlip; });
  CHECK(
      Read(request).status() ==
      absl::DataLossError("a: its bytes do not have its checksum, in 3 reads"));
}

TEST_CASE_METHOD(S3SourceTest, "A read from S3 gets over each passing fault",
                 "[s3][s3_source]") {
  for (const std::size_t size : {900, 9000}) {
    const std::string content(size, 'x');
    const ReadRequest request = Put("a", content);
    for (const http::Fault fault : http::kPassingFaults) {
      // This fault demands a wait in real time.
      if (fault == http::Fault::k429) continue;
      // With this fault, a request for a whole object cannot succeed.
      if (size == 900 && fault == http::Fault::kNoRange) continue;
      std::atomic<int> asked = 0;
      const auto faults = server_.SetFaults([&](const S3Server::Asked&) {
        return asked++ < 3 ? fault : http::Fault::kNone;
      });
      const auto read = Read(request);
      UNSCOPED_INFO(static_cast<int>(fault) << read.status());
      REQUIRE_THAT(read, IsOk());
      CHECK(*read == content);
    }
  }
}

TEST_CASE_METHOD(
    S3SourceTest,
    "An S3 source tells servers the entity tag of an object once it is known",
    "[s3][s3_source]") {
  const ReadRequest request = Put("a", std::string(900, 'a'));
  REQUIRE_THAT(Read(request), IsOk());
  CHECK(server_.asked_for_tag() == 0);
  REQUIRE_THAT(Read(request), IsOk());
  CHECK(server_.asked_for_tag() == 1);
  server_.Put("p/a", std::string(900, 'b'));
  CHECK(Read(request).status() == absl::FailedPreconditionError(kChanged));
  CHECK(server_.asked_for_tag() == 2);
}

TEST_CASE_METHOD(
    S3SourceTest,
    "An S3 source finds out without the tag that an object was replaced",
    "[s3][s3_source]") {
  const ReadRequest request = Put("a", std::string(900, 'a'));
  for (const std::size_t size : {900, 901, 90}) {
    server_.Put("p/a", std::string(size, 'b'));
    CHECK(Read(request).status() == absl::FailedPreconditionError(kChanged));
  }
  server_.Remove("p/a");
  CHECK(Read(request).status() ==
        absl::NotFoundError("a: was deleted since the dataset was indexed"));
}

TEST_CASE_METHOD(
    S3SourceTest,
    "An S3 source never mixes an object that is overwritten amid a read",
    "[s3][s3_source]") {
  const ReadRequest request = Put("a", std::string(9000, 'a'));
  std::atomic<int> asked = 0;
  const auto faults = server_.SetFaults([&](const S3Server::Asked&) {
    if (asked++ == 4) server_.Put("p/a", std::string(9000, 'b'));
    return http::Fault::kNone;
  });
  CHECK(Read(request).status() == absl::FailedPreconditionError(kChanged));
}

TEST_CASE_METHOD(S3SourceTest, "An S3 source follows no redirect",
                 "[s3][s3_source]") {
  std::atomic<int> asked = 0;
  const http::HttpServer other(
      [&](const http::HttpServer::Asked&, http::HttpServer::Peer& peer) {
        ++asked;
        peer.Answer(200, "ETag: \"x\"\r\n", "hello");
      });
  const ReadRequest request = Put("a", "hello");
  for (const int status : {301, 302, 307, 308}) {
    server_.SetAnswer(
        {status, "Location: " + other.url() + "/bucket/p/a?X-Amz=1\r\n", ""});
    CHECK(Read(request).status() ==
          absl::InvalidArgumentError("a: has moved: give the address (" +
                                     other.url() +
                                     "/bucket/p/a) that it moved to"));
  }
  CHECK(asked == 0);
}

TEST_CASE_METHOD(
    S3SourceTest,
    "An S3 source finds out and refuses a server without entity tags",
    "[s3][s3_source]") {
  const http::HttpServer careless(
      [](const http::HttpServer::Asked&, http::HttpServer::Peer& peer) {
        peer.Answer(200, "", "hello");
      });
  ReadRequest request = Put("a", "hello");
  request.root =
      *S3Root::Create("s3://bucket", Endpoint{careless.url(), "us-east-1"});
  CHECK_THAT(Read(request), HasCode(absl::StatusCode::kUnimplemented));
}

}  // namespace
}  // namespace forebay::storage::s3
