#include "server/storage/s3/credentials_cache.h"

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "server/storage/http/awaited_call.h"
#include "server/storage/http/client.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/s3/s3_server.h"

namespace forebay::storage::s3 {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

constexpr std::int64_t kSecond = 1'000'000'000;

// A server that requires keys, and a client with credentials that a test
// changes.
class CredentialsCacheTest {
 protected:
  CredentialsCacheTest()
      : engine_(*http::Engine::Create()),
        client_(engine_.get(), Options(), 1),
        cache_(
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
    call.authorizer = &*cache_;
    return http::Await(&client_, std::move(call)).status();
  }

  S3Server server_;
  base::FakeClock wall_;
  base::Mutex mutex_;
  std::optional<Keys> there_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int> looks_ = 0;
  const std::unique_ptr<http::Engine> engine_;
  http::Client client_;
  std::optional<CredentialsCache> cache_;
};

TEST_CASE_METHOD(CredentialsCacheTest, "No S3 request is signed without keys",
                 "[s3][credentials_cache]") {
  CHECK_THAT(cache_->name(), Catch::Equals(""));
  CHECK_THAT(Get(), IsOk());
  REQUIRE_THAT(cache_->Renew(), IsOk());
  CHECK(cache_->name() == "somebody");
  CHECK_THAT(Get(), IsOk());
  server_.SetKeys({"id", "secret", ""});
  CHECK_THAT(Get(), HasCode(absl::StatusCode::kPermissionDenied));
  CHECK(looks_ == 1);
}

TEST_CASE_METHOD(CredentialsCacheTest, "Expired S3 keys are looked for again",
                 "[s3][credentials_cache]") {
  Have(Keys{"id", "secret", "old"});
  REQUIRE_THAT(cache_->Renew(), IsOk());
  server_.SetKeys({"id", "secret", "old"});
  CHECK_THAT(Get(), IsOk());
  CHECK(looks_ == 1);
  server_.SetKeys({"id", "secret", "new"});
  Have(Keys{"id", "secret", "new"});
  CHECK_THAT(Get(), IsOk());
  CHECK(looks_ == 2);
  // The new keys belong to another account.
  wall_.Advance(30 * kSecond);
  server_.SetKeys({"id2", "secret", "new"});
  Have(Keys{"id2", "secret", "new"});
  CHECK_THAT(Get(), IsOk());
  CHECK(looks_ == 3);
}

TEST_CASE_METHOD(CredentialsCacheTest,
                 "The S3 server's error is told where there are no new keys",
                 "[s3][credentials_cache]") {
  Have(Keys{"id", "secret", "old"});
  REQUIRE_THAT(cache_->Renew(), IsOk());
  server_.SetKeys({"id", "secret", "new"});
  const int asked = server_.asked();
  CHECK_THAT(Get().message(), Contains("ExpiredToken"));
  CHECK(server_.asked() == asked + 2);
  CHECK(looks_ == 2);
  // The next call does not look for new keys again at once.
  CHECK_FALSE(Get().ok());
  CHECK(server_.asked() == asked + 3);
  CHECK(looks_ == 2);
  wall_.Advance(30 * kSecond);
  Have(Keys{"id", "secret", "new"});
  CHECK_THAT(Get(), IsOk());
}

TEST_CASE_METHOD(CredentialsCacheTest,
                 "A clock that is set back delays no look for S3 keys",
                 "[s3][credentials_cache]") {
  Have(Keys{"id", "secret", "old"});
  REQUIRE_THAT(cache_->Renew(), IsOk());
  server_.SetKeys({"id", "secret", "new"});
  CHECK_FALSE(Get().ok());
  CHECK(looks_ == 2);
  wall_.Advance(-3600 * kSecond);
  Have(Keys{"id", "secret", "new"});
  CHECK_THAT(Get(), IsOk());
  CHECK(looks_ == 3);
}

TEST_CASE_METHOD(
    CredentialsCacheTest,
    "An S3 token that servers of other makers do not know is looked for again",
    "[s3][credentials_cache]") {
  Have(Keys{"id", "secret", "old"});
  REQUIRE_THAT(cache_->Renew(), IsOk());
  server_.SetAnswer({403, "", ErrorXml("InvalidTokenId")});  // MinIO's code
  CHECK_FALSE(Get().ok());
  CHECK(looks_ == 2);
}

TEST_CASE_METHOD(CredentialsCacheTest,
                 "An S3 object that is forbidden is not asked for again",
                 "[s3][credentials_cache]") {
  Have(Keys{"id", "secret", ""});
  REQUIRE_THAT(cache_->Renew(), IsOk());
  server_.SetAnswer({403, "", ErrorXml("AccessDenied")});
  const int asked = server_.asked();
  CHECK_THAT(Get(), HasCode(absl::StatusCode::kPermissionDenied));
  CHECK(server_.asked() == asked + 1);
  CHECK(looks_ == 1);
}

TEST_CASE_METHOD(
    CredentialsCacheTest,
    "S3 requests are signed by the server's clock if this host's is wrong",
    "[s3][credentials_cache]") {
  Have(Keys{"id", "secret", ""});
  REQUIRE_THAT(cache_->Renew(), IsOk());
  std::string time;
  const http::HttpServer strict(
      [&](const http::HttpServer::Asked& asked, http::HttpServer::Peer& peer) {
        base::MutexLock lock(&mutex_);
        time = asked.headers.at("x-amz-date");
        if (time.starts_with("20301231T2")) return peer.Answer(200, "", "");
        peer.Answer(403, "Date: Tue, 31 Dec 2030 23:00:00 GMT\r\n",
                    ErrorXml("RequestTimeTooSkewed"));
      });
  // Returns the time of the latest signature.
  const auto get = [&] {
    http::Call call;
    call.request.url = strict.url() + "/bucket/a";
    call.authorizer = &*cache_;
    CHECK_THAT(http::Await(&client_, std::move(call)), IsOk());
    base::MutexLock lock(&mutex_);
    return time;
  };
  CHECK(get() == "20301231T230000Z");
  wall_.Advance(7 * kSecond);
  CHECK(get() == "20301231T230007Z");
}

TEST_CASE_METHOD(CredentialsCacheTest,
                 "S3 requests give up a look for keys that hangs",
                 "[s3][credentials_cache]") {
  base::FakeClock clock;
  const auto engine = *http::Engine::Create({16, &clock});
  http::Client client(engine.get(), Options(), 1);
  std::promise<void> go;
  std::atomic<int> looks = 0;
  CredentialsCache cache(
      engine.get(),
      [&]() -> absl::StatusOr<Credentials> {
        if (looks++ > 0) go.get_future().wait();
        return Credentials{Keys{"id", "secret", "old"}, "somebody"};
      },
      "us-east-1", &wall_);
  REQUIRE_THAT(cache.Renew(), IsOk());
  server_.SetKeys({"id", "secret", "new"});
  const auto get = [&] {
    http::Call call;
    call.request.url = server_.endpoint().UrlOf("bucket") + "/a";
    call.authorizer = &cache;
    return http::Await(&client, std::move(call)).status();
  };
  auto first = std::async(std::launch::async, get);
  while (looks < 2) std::this_thread::yield();
  clock.Advance(CredentialsCache::kMaxWaitNanos);
  engine->Post([] {});
  CHECK_THAT(first.get().message(), Contains("ExpiredToken"));
  // Later calls do not wait for the search, either.
  CHECK_THAT(get().message(), Contains("ExpiredToken"));
  go.set_value();
}

TEST_CASE_METHOD(CredentialsCacheTest,
                 "S3 credentials of an older search do not replace newer ones",
                 "[s3][credentials_cache]") {
  std::promise<void> begun;
  std::promise<void> go;
  std::atomic<int> looks = 0;
  CredentialsCache cache(
      engine_.get(),
      [&]() -> absl::StatusOr<Credentials> {
        if (looks++ > 0) return Credentials{std::nullopt, "newer"};
        begun.set_value();
        go.get_future().wait();
        return Credentials{std::nullopt, "older"};
      },
      "us-east-1", &wall_);
  auto older =
      std::async(std::launch::async, [&cache] { return cache.Renew(); });
  begun.get_future().wait();
  CHECK_THAT(cache.Renew(), IsOk());
  go.set_value();
  CHECK_THAT(older.get(), IsOk());
  CHECK(cache.name() == "newer");
}

TEST_CASE_METHOD(CredentialsCacheTest,
                 "An older search for S3 credentials may fail",
                 "[s3][credentials_cache]") {
  std::promise<void> begun;
  std::promise<void> go;
  std::atomic<int> looks = 0;
  CredentialsCache cache(
      engine_.get(),
      [&]() -> absl::StatusOr<Credentials> {
        if (looks++ > 0) return Credentials{std::nullopt, "newer"};
        begun.set_value();
        go.get_future().wait();
        return absl::UnavailableError("no credentials");
      },
      "us-east-1", &wall_);
  auto older =
      std::async(std::launch::async, [&cache] { return cache.Renew(); });
  begun.get_future().wait();
  CHECK_THAT(cache.Renew(), IsOk());
  go.set_value();
  CHECK_THAT(older.get(), IsOk());
  CHECK(cache.name() == "newer");
}

// A failed search leaves the credentials in use, and tells its error.
TEST_CASE_METHOD(CredentialsCacheTest,
                 "A later search for S3 credentials that fails is an error",
                 "[s3][credentials_cache]") {
  int looks = 0;
  CredentialsCache cache(
      engine_.get(),
      [&]() -> absl::StatusOr<Credentials> {
        if (looks++ == 0) return Credentials{std::nullopt, "older"};
        return absl::UnavailableError("no credentials");
      },
      "us-east-1", &wall_);
  CHECK_THAT(cache.Renew(), IsOk());
  CHECK_THAT(cache.Renew(), HasCode(absl::StatusCode::kUnavailable));
  CHECK(cache.name() == "older");
}

TEST_CASE_METHOD(CredentialsCacheTest,
                 "Kept S3 credentials sign what they are asked to sign",
                 "[s3][credentials_cache]") {
  Have(Keys{"id", "secret", "token"});
  REQUIRE_THAT(cache_->Renew(), IsOk());
  const auto sign = [this](const http::HttpRequest& request) {
    CredentialsCache::Headers headers;
    cache_->Authorize(request,
                      [&](absl::StatusOr<http::Authorizer::Headers> got) {
                        headers = *std::move(got);
                      });
    return headers;
  };
  http::HttpRequest request;
  request.url = "https://b.host:443/a%20b?x=1&a=2";
  request.headers = {"Range: bytes=0-1", "X-Amz-Checksum-Mode: ENABLED"};
  const auto headers = sign(request);
  REQUIRE(headers.size() == 5);
  CHECK(headers[0] == "host: b.host");
  CHECK(headers[2] == "x-amz-date: 19700411T000000Z");
  CHECK(headers[3] == "x-amz-security-token: token");
  Signer signer({"id", "secret", "token"}, "us-east-1");
  CHECK(headers[4] ==
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
  CHECK(sign(request)[0] == "host: host:8080");
  request.url = "http://[::1]:80/b";
  CHECK(sign(request)[0] == "host: [::1]");
  request.url = "http://[::80]:9000/gateway/b";
  CHECK(sign(request)[0] == "host: [::80]:9000");
}

}  // namespace
}  // namespace forebay::storage::s3
