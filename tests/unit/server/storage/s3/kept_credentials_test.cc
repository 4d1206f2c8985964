#include "server/storage/s3/kept_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "server/storage/http/awaited_call.h"
#include "server/storage/http/client.h"
#include "tests/unit/server/storage/s3/s3_server.h"

namespace forebay::storage::s3 {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

// A server that wants keys, and a client with credentials that a test changes.
class KeptCredentialsTest : public ::testing::Test {
 protected:
  KeptCredentialsTest()
      : engine_(*http::Engine::Create()),
        client_(engine_.get(), Options(), 1),
        kept_(
            std::in_place, engine_.get(),
            [this]() -> absl::StatusOr<Credentials> {
              ++looks_;
              base::MutexLock lock(&mutex_);
              return Credentials{there_, "somebody"};
            },
            "us-east-1", &wall_) {
    wall_.Advance(100 * kDay);
    server_.Put("a", "content");
  }

  static constexpr std::int64_t kDay = 86'400 * kSecond;

  static http::RetryOptions Options() {
    http::RetryOptions options;
    options.attempts = 4;
    options.first_delay_nanos = 0;
    return options;
  }

  void Have(std::optional<Keys> keys) {
    base::MutexLock lock(&mutex_);
    there_ = std::move(keys);
  }

  absl::Status Get() {
    http::Call call;
    call.request.url = server_.endpoint().UrlOf("bucket") + "/a";
    call.authorizer = &*kept_;
    return http::Await(&client_, std::move(call)).status();
  }

  S3Server server_;
  base::FakeClock wall_;
  base::Mutex mutex_;
  std::optional<Keys> there_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int> looks_ = 0;
  const std::unique_ptr<http::Engine> engine_;
  http::Client client_;
  std::optional<KeptCredentials> kept_;
};

TEST_F(KeptCredentialsTest, WithoutKeysNothingIsSigned) {
  EXPECT_EQ(kept_->name(), "");
  EXPECT_TRUE(Get().ok());
  ASSERT_TRUE(kept_->Renew().ok());
  EXPECT_EQ(kept_->name(), "somebody");
  EXPECT_TRUE(Get().ok());
  server_.SetKeys({"id", "secret", ""});
  EXPECT_EQ(Get().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(looks_, 1);
}

TEST_F(KeptCredentialsTest, ExpiredKeysAreLookedForAgain) {
  Have(Keys{"id", "secret", "old"});
  ASSERT_TRUE(kept_->Renew().ok());
  server_.SetKeys({"id", "secret", "old"});
  EXPECT_TRUE(Get().ok());
  EXPECT_EQ(looks_, 1);
  server_.SetKeys({"id", "secret", "new"});
  Have(Keys{"id", "secret", "new"});
  EXPECT_TRUE(Get().ok());
  EXPECT_EQ(looks_, 2);
  // Those of another account.
  wall_.Advance(30 * kSecond);
  server_.SetKeys({"id2", "secret", "new"});
  Have(Keys{"id2", "secret", "new"});
  EXPECT_TRUE(Get().ok());
  EXPECT_EQ(looks_, 3);
}

TEST_F(KeptCredentialsTest, WhereThereAreNoNewOnesTheServersErrorIsTold) {
  Have(Keys{"id", "secret", "old"});
  ASSERT_TRUE(kept_->Renew().ok());
  server_.SetKeys({"id", "secret", "new"});
  const int asked = server_.asked();
  EXPECT_THAT(std::string(Get().message()), HasSubstr("ExpiredToken"));
  EXPECT_EQ(server_.asked(), asked + 2);
  EXPECT_EQ(looks_, 2);
  // Not at once again.
  EXPECT_FALSE(Get().ok());
  EXPECT_EQ(server_.asked(), asked + 3);
  EXPECT_EQ(looks_, 2);
  wall_.Advance(30 * kSecond);
  Have(Keys{"id", "secret", "new"});
  EXPECT_TRUE(Get().ok());
}

TEST_F(KeptCredentialsTest, AClockThatIsSetBackDelaysNoLook) {
  Have(Keys{"id", "secret", "old"});
  ASSERT_TRUE(kept_->Renew().ok());
  server_.SetKeys({"id", "secret", "new"});
  EXPECT_FALSE(Get().ok());
  EXPECT_EQ(looks_, 2);
  wall_.Advance(-3600 * kSecond);
  Have(Keys{"id", "secret", "new"});
  EXPECT_TRUE(Get().ok());
  EXPECT_EQ(looks_, 3);
}

TEST_F(KeptCredentialsTest, ATokenThatOtherServersDoNotKnowIsLookedForAgain) {
  Have(Keys{"id", "secret", "old"});
  ASSERT_TRUE(kept_->Renew().ok());
  server_.SetAnswer({403, "", ErrorXml("InvalidTokenId")});  // MinIO's
  EXPECT_FALSE(Get().ok());
  EXPECT_EQ(looks_, 2);
}

TEST_F(KeptCredentialsTest, WhatIsForbiddenIsNotAskedForAgain) {
  Have(Keys{"id", "secret", ""});
  ASSERT_TRUE(kept_->Renew().ok());
  server_.SetAnswer({403, "", ErrorXml("AccessDenied")});
  const int asked = server_.asked();
  EXPECT_EQ(Get().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(server_.asked(), asked + 1);
  EXPECT_EQ(looks_, 1);
}

TEST_F(KeptCredentialsTest, TheServersClockIsTaken) {
  Have(Keys{"id", "secret", ""});
  ASSERT_TRUE(kept_->Renew().ok());
  std::string time;
  const http::HttpServer strict(
      [&](const http::HttpServer::Asked& asked, http::HttpServer::Peer& peer) {
        base::MutexLock lock(&mutex_);
        time = asked.headers.at("x-amz-date");
        if (time.starts_with("20301231T2")) return peer.Answer(200, "", "");
        peer.Answer(403, "Date: Tue, 31 Dec 2030 23:00:00 GMT\r\n",
                    ErrorXml("RequestTimeTooSkewed"));
      });
  // Returns the time of the last signature.
  const auto get = [&] {
    http::Call call;
    call.request.url = strict.url() + "/bucket/a";
    call.authorizer = &*kept_;
    EXPECT_TRUE(http::Await(&client_, std::move(call)).ok());
    base::MutexLock lock(&mutex_);
    return time;
  };
  EXPECT_EQ(get(), "20301231T230000Z");
  wall_.Advance(7 * kSecond);
  EXPECT_EQ(get(), "20301231T230007Z");
}

TEST_F(KeptCredentialsTest, RequestsGiveUpALookThatHangs) {
  base::FakeClock clock;
  const auto engine = *http::Engine::Create({16, &clock});
  http::Client client(engine.get(), Options(), 1);
  std::promise<void> go;
  std::atomic<int> looks = 0;
  KeptCredentials kept(
      engine.get(),
      [&]() -> absl::StatusOr<Credentials> {
        if (looks++ > 0) go.get_future().wait();
        return Credentials{Keys{"id", "secret", "old"}, "somebody"};
      },
      "us-east-1", &wall_);
  ASSERT_TRUE(kept.Renew().ok());
  server_.SetKeys({"id", "secret", "new"});
  const auto get = [&] {
    http::Call call;
    call.request.url = server_.endpoint().UrlOf("bucket") + "/a";
    call.authorizer = &kept;
    return http::Await(&client, std::move(call)).status();
  };
  auto first = std::async(std::launch::async, get);
  while (looks < 2) std::this_thread::yield();
  clock.Advance(KeptCredentials::kMaxWaitNanos);
  engine->Post([] {});
  EXPECT_THAT(std::string(first.get().message()), HasSubstr("ExpiredToken"));
  // Nor do later ones wait for it.
  EXPECT_THAT(std::string(get().message()), HasSubstr("ExpiredToken"));
  go.set_value();
}

TEST_F(KeptCredentialsTest, SignsWhatItIsAskedTo) {
  Have(Keys{"id", "secret", "token"});
  ASSERT_TRUE(kept_->Renew().ok());
  const auto sign = [this](const http::Request& request) {
    KeptCredentials::Headers headers;
    kept_->Authorize(request,
                     [&](absl::StatusOr<http::Authorizer::Headers> got) {
                       headers = *std::move(got);
                     });
    return headers;
  };
  http::Request request;
  request.url = "https://b.host:443/a%20b?x=1&a=2";
  request.headers = {"Range: bytes=0-1", "X-Amz-Checksum-Mode: ENABLED"};
  const auto headers = sign(request);
  ASSERT_EQ(headers.size(), 5);
  EXPECT_EQ(headers[0], "host: b.host");
  EXPECT_EQ(headers[2], "x-amz-date: 19700411T000000Z");
  EXPECT_EQ(headers[3], "x-amz-security-token: token");
  Signer signer({"id", "secret", "token"}, "us-east-1");
  EXPECT_EQ(headers[4],
            "Authorization: " +
                signer.Authorization({"GET",
                                      "/a%20b",
                                      "a=2&x=1",
                                      {{"host", "b.host"},
                                       {"x-amz-checksum-mode", "ENABLED"},
                                       {"x-amz-content-sha256", kEmptySha256},
                                       {"x-amz-date", "19700411T000000Z"},
                                       {"x-amz-security-token", "token"}},
                                      kEmptySha256},
                                     "19700411T000000Z"));
  request.url = "http://host:8080";
  EXPECT_EQ(sign(request)[0], "host: host:8080");
  request.url = "http://[::1]:80/b";
  EXPECT_EQ(sign(request)[0], "host: [::1]");
  request.url = "http://[::80]:9000/gateway/b";
  EXPECT_EQ(sign(request)[0], "host: [::80]:9000");
}

}  // namespace
}  // namespace forebay::storage::s3
