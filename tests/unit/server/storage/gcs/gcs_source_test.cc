// Tests of reads from a server that follows the JSON API, and from a server
// that does not.

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/storage/gcs/gcs_protocol.h"
#include "server/storage/gcs/gcs_root.h"
#include "server/storage/http/client.h"
#include "server/storage/http/engine.h"
#include "server/storage/http/ranged_source.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/read_text.h"
#include "tests/unit/server/storage/gcs/gcs_server.h"

namespace forebay::storage::gcs {
namespace {

using tests::HasCode;

TEST_CASE("A GCS root takes valid URIs and makes URLs of them",
          "[gcs][gcs_source]") {
  const auto root = *GcsRoot::Create("gs://my-bucket/a b/c/", "http://e");
  CHECK(root->prefix() == "a b/c/");
  CHECK(*root->MediaUrl("d/ü.jpg", 7) ==
        "http://e/storage/v1/b/my-bucket/o/a%20b%2Fc%2Fd%2F%C3%BC.jpg"
        "?alt=media&generation=7&ifGenerationMatch=7");
  CHECK(root->ListUrl("d/", true, "a=b") ==
        "http://e/storage/v1/b/my-bucket/o?prefix=a%20b%2Fc%2Fd%2F"
        "&fields=nextPageToken,prefixes,items(name,size,generation)"
        "&maxResults=1000&delimiter=%2F&pageToken=a%3Db");
  CHECK(*root->StatUrl("d") ==
        "http://e/storage/v1/b/my-bucket/o/a%20b%2Fc%2Fd"
        "?fields=name,size,generation");
  // Two spellings of one place have the same identity, so they share cached
  // entries.
  CHECK(*root->identity() ==
        *(*GcsRoot::Create("gs://my-bucket/a b/c", "http://e"))->identity());
  CHECK(*root->identity() !=
        *(*GcsRoot::Create("gs://my-bucket/a b", "http://e"))->identity());
  CHECK(*root->identity() !=
        *(*GcsRoot::Create("gs://my-bucket/a b/c", "http://e", "somebody"))
             ->identity());
  CHECK_THAT((*GcsRoot::Create("gs://bucket", ""))->prefix(),
             Catch::Equals(""));
  CHECK_THAT((*GcsRoot::Create("gs://bucket/", ""))->prefix(),
             Catch::Equals(""));
  for (const std::string& uri :
       {std::string("gs://"), std::string("s3://bucket"),
        std::string("gs:///a"), std::string("gs://Bucket"),
        std::string("gs://bu cket"), std::string("gs://b?x=/a"),
        "gs://bucket/" + std::string(1024, 'a')}) {
    CAPTURE(uri);
    CHECK_THAT(GcsRoot::Create(uri, ""),
               HasCode(absl::StatusCode::kInvalidArgument));
  }
  for (const std::string& name :
       {std::string(), std::string(1024, 'a'), std::string("a\nb")}) {
    CAPTURE(name);
    CHECK_THAT(root->MediaUrl(name, 1),
               HasCode(absl::StatusCode::kInvalidArgument));
  }
}

TEST_CASE("A GCS root finds the endpoint and refuses what is not HTTP",
          "[gcs][gcs_source]") {
  CHECK(*EndpointFrom(nullptr) == "https://storage.googleapis.com");
  CHECK(*EndpointFrom("") == "https://storage.googleapis.com");
  CHECK(*EndpointFrom("localhost:9023") == "http://localhost:9023");
  CHECK(*EndpointFrom("http://localhost:9023/") == "http://localhost:9023");
  CHECK_FALSE(EndpointFrom("ftp://x").ok());
}

TEST_CASE("The GCS protocol finds the checksum in a hash header",
          "[gcs][gcs_source]") {
  CHECK(ParseHashHeader("crc32c=AAAAAQ==") == 1u);
  CHECK(ParseHashHeader("md5=Z, crc32c=yZRlqg==") == 0xC99465AAu);
  for (const char* value :
       {"", "md5=abc", "crc32c=", "crc32c=!!!!", "crc32c=AAAAAAAA", ",,,"}) {
    CAPTURE(value);
    CHECK_FALSE(ParseHashHeader(value).has_value());
  }
}

class GcsSourceTest {
 protected:
  GcsSourceTest()
      : engine_(*http::Engine::Create()),
        client_(engine_.get(), Options(), 1),
        root_(*GcsRoot::Create("gs://bucket/p", server_.url())),
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

  GcsServer server_;
  const GcsProtocol protocol_;
  const std::unique_ptr<http::Engine> engine_;
  http::Client client_;
  const std::shared_ptr<const GcsRoot> root_;
  std::optional<http::RangedSource> source_;
};

TEST_CASE_METHOD(GcsSourceTest, "The GCS source reads again what came spoilt",
                 "[gcs][gcs_source]") {
  for (const std::size_t size : {900, 9000}) {
    const std::string content(size, 'x');
    const ReadRequest request = Put("a", content);
    {
      std::atomic<int> left = 1;
      const auto once = server_.SetFaults([&](const GcsServer::Asked&) {
        return left-- == 1 ? http::Fault::kBitFlip : http::Fault::kNone;
      });
      CHECK(*Read(request) == content);
      CHECK(left < 0);
    }
    const auto always = server_.SetFaults(
        [](const GcsServer::Asked&) { return http::Fault::kBitFlip; });
    CHECK(Read(request).status() ==
          absl::DataLossError(
              "a: its bytes do not have its checksum, in 3 reads"));
  }
}

TEST_CASE_METHOD(GcsSourceTest,
                 "A job that joined a GCS read has joined what is read again",
                 "[gcs][gcs_source]") {
  const std::string content(900, 'x');
  ReadRequest request = Put("a", content);
  request.ticket = 7;
  request.purpose.job = 1;
  source_->SetCap(1, 1);  // the cap pays the first read in 15 minutes
  std::atomic<int> left = 1;
  const auto faults = server_.SetFaults([&](const GcsServer::Asked&) {
    if (left-- < 1) return http::Fault::kNone;
    source_->Share(7, {.job = 2});
    return http::Fault::kBitFlip;
  });
  CHECK(*Read(request) == content);
}

TEST_CASE_METHOD(GcsSourceTest,
                 "A GCS object that is overwritten amid a read is never mixed",
                 "[gcs][gcs_source]") {
  const ReadRequest request = Put("a", std::string(9000, 'a'));
  std::atomic<int> asked = 0;
  const auto faults = server_.SetFaults([&](const GcsServer::Asked&) {
    if (asked++ == 4) server_.Put("p/a", std::string(9000, 'b'));
    return http::Fault::kNone;
  });
  CHECK(Read(request).status() ==
        absl::FailedPreconditionError(
            "a: was replaced or changed since the dataset was indexed"));
}

TEST_CASE_METHOD(GcsSourceTest,
                 "A GCS server without preconditions is found out",
                 "[gcs][gcs_source]") {
  const http::HttpServer careless([](const http::HttpServer::Asked&,
                                     http::HttpServer::Peer& peer) {
    peer.Answer(206, "x-goog-generation: 8\r\nContent-Range: bytes 0-4/5\r\n",
                "hello");
  });
  ReadRequest request = Put("a", "hello");
  request.root = *GcsRoot::Create("gs://bucket", careless.url());
  request.version.stamp = 7;
  CHECK_THAT(Read(request), HasCode(absl::StatusCode::kFailedPrecondition));
  request.version.stamp = 8;
  CHECK(*Read(request) == "hello");
}

}  // namespace
}  // namespace forebay::storage::gcs
