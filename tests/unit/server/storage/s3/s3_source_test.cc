// Tests of reads from a server that speaks as S3 does, and from one that does
// not.

#include <gtest/gtest.h>

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
#include "tests/conformance/storage/read_text.h"
#include "tests/unit/server/storage/s3/s3_server.h"

namespace forebay::storage::s3 {
namespace {

const Endpoint kEndpoint = {"http://e", "us-east-1"};

TEST(S3RootTest, TakesUris) {
  const auto root = *S3Root::Create("s3://my-bucket/a b/c/", kEndpoint);
  EXPECT_EQ(root->prefix(), "a b/c/");
  EXPECT_EQ(*root->UrlOf("d/ü+.jpg"),
            "http://e/my-bucket/a%20b/c/d/%C3%BC%2B.jpg");
  EXPECT_EQ(*root->UrlOf("d//e\n"), "http://e/my-bucket/a%20b/c/d//e%0A");
  EXPECT_EQ(root->ListUrl("d/", true, "a=b"),
            "http://e/my-bucket/?continuation-token=a%3Db&delimiter=%2F&"
            "encoding-type=url&list-type=2&max-keys=1000&"
            "prefix=a%20b%2Fc%2Fd%2F");
  EXPECT_EQ(root->ListUrl("", false, ""),
            "http://e/my-bucket/?encoding-type=url&list-type=2&max-keys=1000&"
            "prefix=a%20b%2Fc%2F");
  // Two spellings of one place have one identity, so they share cached entries.
  EXPECT_EQ(*root->identity(),
            *(*S3Root::Create("s3://my-bucket/a b/c", kEndpoint))->identity());
  EXPECT_NE(*root->identity(),
            *(*S3Root::Create("s3://my-bucket/a b", kEndpoint))->identity());
  EXPECT_NE(
      *root->identity(),
      *(*S3Root::Create("s3://my-bucket/a b/c", kEndpoint, "me"))->identity());
  EXPECT_EQ((*S3Root::Create("s3://bucket", kEndpoint))->prefix(), "");
  EXPECT_EQ((*S3Root::Create("s3://bucket/", kEndpoint))->prefix(), "");
}

TEST(S3RootTest, RefusesWhatIsNone) {
  for (const std::string& uri :
       {std::string("s3://"), std::string("gs://bucket"),
        std::string("s3:///a"), std::string("s3://Bucket"),
        std::string("s3://bu cket"), std::string("s3://b?x=/a"),
        std::string("s3://ab"), std::string("s3://.abc"),
        std::string("s3://abc-"), std::string("s3://a..b"),
        std::string("s3://user@host"), "s3://" + std::string(64, 'a'),
        "s3://bucket/" + std::string(1024, 'a')})
    EXPECT_EQ(S3Root::Create(uri, kEndpoint).status().code(),
              absl::StatusCode::kInvalidArgument)
        << uri;
  const auto root = *S3Root::Create("s3://bucket/p", kEndpoint);
  for (const std::string& name :
       {std::string(), std::string(1024, 'a'), std::string("a\0b", 3),
        std::string(".."), std::string("../x"), std::string("a/../b"),
        std::string("a/.")})
    EXPECT_EQ(root->UrlOf(name).status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
  EXPECT_TRUE(root->UrlOf("...").ok());
}

class S3SourceTest : public ::testing::Test {
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

TEST_F(S3SourceTest, WhatCameSpoiltIsReadAgain) {
  const std::string content(900, 'x');
  const ReadRequest request = Put("a", content);
  {
    std::atomic<int> left = 1;
    const auto once = server_.SetFaults([&](const S3Server::Asked&) {
      return left-- == 1 ? http::Fault::kBitFlip : http::Fault::kNone;
    });
    EXPECT_EQ(*Read(request), content);
    EXPECT_LT(left, 0);
  }
  const auto always = server_.SetFaults(
      [](const S3Server::Asked&) { return http::Fault::kBitFlip; });
  EXPECT_EQ(
      Read(request).status(),
      absl::DataLossError("a: its bytes do not have its checksum, in 3 reads"));
}

TEST_F(S3SourceTest, EachPassingFaultPasses) {
  for (const std::size_t size : {900, 9000}) {
    const std::string content(size, 'x');
    const ReadRequest request = Put("a", content);
    for (const http::Fault fault : http::kPassingFaults) {
      // Asks to wait, in real time.
      if (fault == http::Fault::k429) continue;
      // Of all of an object, more is none that passes.
      if (size == 900 && fault == http::Fault::kNoRange) continue;
      std::atomic<int> asked = 0;
      const auto faults = server_.SetFaults([&](const S3Server::Asked&) {
        return asked++ < 3 ? fault : http::Fault::kNone;
      });
      const auto read = Read(request);
      ASSERT_TRUE(read.ok()) << static_cast<int>(fault) << read.status();
      EXPECT_EQ(*read, content);
    }
  }
}

TEST_F(S3SourceTest, ServersAreToldTheTagOnceItIsKnown) {
  const ReadRequest request = Put("a", std::string(900, 'a'));
  ASSERT_TRUE(Read(request).ok());
  EXPECT_EQ(server_.asked_for_tag(), 0);
  ASSERT_TRUE(Read(request).ok());
  EXPECT_EQ(server_.asked_for_tag(), 1);
  server_.Put("p/a", std::string(900, 'b'));
  EXPECT_EQ(Read(request).status(), absl::FailedPreconditionError(kChanged));
  EXPECT_EQ(server_.asked_for_tag(), 2);
}

TEST_F(S3SourceTest, WhatWasReplacedIsFoundOutWithoutTheTag) {
  const ReadRequest request = Put("a", std::string(900, 'a'));
  for (const std::size_t size : {900, 901, 90}) {
    server_.Put("p/a", std::string(size, 'b'));
    EXPECT_EQ(Read(request).status(), absl::FailedPreconditionError(kChanged));
  }
  server_.Remove("p/a");
  EXPECT_EQ(
      Read(request).status(),
      absl::NotFoundError("a: was deleted since the dataset was indexed"));
}

TEST_F(S3SourceTest, AnObjectOverwrittenAmidIsNeverMixed) {
  const ReadRequest request = Put("a", std::string(9000, 'a'));
  std::atomic<int> asked = 0;
  const auto faults = server_.SetFaults([&](const S3Server::Asked&) {
    if (asked++ == 4) server_.Put("p/a", std::string(9000, 'b'));
    return http::Fault::kNone;
  });
  EXPECT_EQ(Read(request).status(), absl::FailedPreconditionError(kChanged));
}

TEST_F(S3SourceTest, NoRedirectIsFollowed) {
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
    EXPECT_EQ(Read(request).status(),
              absl::InvalidArgumentError("a: has moved: give the address (" +
                                         other.url() +
                                         "/bucket/p/a) that it moved to"));
  }
  EXPECT_EQ(asked, 0);
}

TEST_F(S3SourceTest, AServerWithoutTagsIsFoundOut) {
  const http::HttpServer careless(
      [](const http::HttpServer::Asked&, http::HttpServer::Peer& peer) {
        peer.Answer(200, "", "hello");
      });
  ReadRequest request = Put("a", "hello");
  request.root =
      *S3Root::Create("s3://bucket", Endpoint{careless.url(), "us-east-1"});
  EXPECT_EQ(Read(request).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace forebay::storage::s3
