#include "server/storage/gcs/gcs_credentials.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "server/base/clock.h"
#include "server/storage/gcs/token_cache.h"
#include "server/storage/http/engine.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/temp_dir.h"
#include "tests/catch/thread_checks.h"
#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::gcs {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

using http::HttpServer;

constexpr std::int64_t kSecond = 1'000'000'000;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

// Returns the key as PEM, encrypted with `passphrase` unless that is empty.
std::string PemOf(EVP_PKEY* key, const std::string& passphrase = "") {
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()),
                                                         &BIO_free);
  PEM_write_bio_PrivateKey(
      memory.get(), key, passphrase.empty() ? nullptr : EVP_aes_128_cbc(),
      reinterpret_cast<const unsigned char*>(passphrase.data()),
      static_cast<int>(passphrase.size()), nullptr, nullptr);
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return std::string(data, size);
}

std::string Unescape(absl::string_view text) {
  std::string plain;
  CHECK(absl::WebSafeBase64Unescape(text, &plain));
  return plain;
}

int folders = 0;  // folders of the tests so far

class CredentialsTest {
 protected:
  CredentialsTest()
      : folder_(tests::TempDir() + "credentials-" + std::to_string(++folders)),
        engine_(*http::Engine::Create()),
        client_(engine_.get(), Options(), 1) {
    mkdir(folder_.c_str(), 0700);
    wall_.Advance(1'700'000'000 * kSecond);
    environment_.gcloud = folder_;
  }

  static http::RetryOptions Options() {
    http::RetryOptions options;
    options.attempts = 4;
    options.first_delay_nanos = 0;
    return options;
  }

  std::string Write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ + "/" + name) << content;
    return folder_ + "/" + name;
  }

  absl::StatusOr<Token> Fetch(TokenSource& source) {
    std::promise<absl::StatusOr<Token>> promise;
    engine_->Post([&] {
      source.Fetch([&](absl::StatusOr<Token> token) {
        promise.set_value(std::move(token));
      });
    });
    return promise.get_future().get();
  }

  absl::StatusOr<std::unique_ptr<TokenSource>> Find() {
    return FindCredentials(environment_, &client_, &wall_);
  }

  const std::string folder_;
  base::FakeClock wall_;
  const std::unique_ptr<http::Engine> engine_;
  http::Client client_;
  CredentialsEnvironment environment_;
};

TEST_CASE_METHOD(
    CredentialsTest,
    "A search for GCS credentials finds nobody where there are none",
    "[gcs][credentials]") {
  const auto found = Find();
  REQUIRE_THAT(found, IsOk());
  CHECK(*found == nullptr);
}

TEST_CASE_METHOD(CredentialsTest, "A GCS service account signs its own tokens",
                 "[gcs][credentials]") {
  const Key key(EVP_RSA_gen(2048), &EVP_PKEY_free);
  environment_.key_file =
      Write("key.json", nlohmann::json({{"type", "service_account"},
                                        {"client_email", "me@project"},
                                        {"private_key_id", "k1"},
                                        {"private_key", PemOf(key.get())}})
                            .dump());
  const auto found = Find();
  REQUIRE_THAT(found, IsOk());
  const auto token = Fetch(**found);
  REQUIRE_THAT(token, IsOk());
  CHECK(token->expires_nanos == wall_.NowNanos() + 3600 * kSecond);
  const std::vector<std::string> parts = absl::StrSplit(token->value, '.');
  REQUIRE(parts.size() == 3);
  CHECK(nlohmann::json::parse(Unescape(parts[0])) ==
        nlohmann::json({{"alg", "RS256"}, {"typ", "JWT"}, {"kid", "k1"}}));
  CHECK(nlohmann::json::parse(Unescape(parts[1])) ==
        nlohmann::json({{"iss", "me@project"},
                        {"sub", "me@project"},
                        {"aud", "https://storage.googleapis.com/"},
                        {"iat", 1'700'000'000},
                        {"exp", 1'700'003'600}}));
  const std::string text = parts[0] + "." + parts[1];
  const std::string signature = Unescape(parts[2]);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(
      EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  REQUIRE(EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr,
                               key.get()) == 1);
  CHECK(
      EVP_DigestVerify(context.get(),
                       reinterpret_cast<const unsigned char*>(signature.data()),
                       signature.size(),
                       reinterpret_cast<const unsigned char*>(text.data()),
                       text.size()) == 1);
}

// By default OpenSSL would ask for the passphrase at the terminal, or read it
// from standard input. In both cases it would wait for ever.
TEST_CASE_METHOD(
    CredentialsTest,
    "Nobody is asked for the passphrase of a service account's key",
    "[gcs][credentials]") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  REQUIRE(write(ends[1], "secret\n", 7) == 7);
  const int input = dup(STDIN_FILENO);
  REQUIRE(dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
  const Key key(EVP_RSA_gen(2048), &EVP_PKEY_free);
  environment_.key_file =
      Write("locked.json",
            nlohmann::json({{"type", "service_account"},
                            {"client_email", "me@project"},
                            {"private_key", PemOf(key.get(), "secret")}})
                .dump());
  const absl::Status status = Find().status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
  dup2(input, STDIN_FILENO);
  for (const int fd : {input, ends[0], ends[1]}) close(fd);
}

TEST_CASE_METHOD(
    CredentialsTest,
    "Faults in files of GCS credentials are told without their secrets",
    "[gcs][credentials]") {
  for (const char* content :
       {"", "{}", R"({"type": "service_account"})",
        R"({"type": "service_account", "client_email": "a",
            "private_key": "hunter2"})",
        R"({"type": "authorized_user", "client_id": "hunter2"})"}) {
    environment_.key_file = Write("bad.json", content);
    const absl::Status status = Find().status();
    CAPTURE(content);
    CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
    const std::string message(status.message());
    CHECK_THAT(message, Contains("bad.json: "));
    CHECK_THAT(message, !Contains("hunter2"));
  }
  for (const char* type : {"service_account", "authorized_user"}) {
    environment_.key_file =
        Write("deep.json", absl::StrCat("{\"type\": \"", type,
                                        "\", \"x\": ", std::string(20'000, '['),
                                        std::string(20'000, ']'), "}"));
    const absl::Status status = Find().status();
    CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
    CHECK(status.message() ==
          environment_.key_file + ": is nested more than 64 deep");
  }
  environment_.key_file = folder_ + "/missing.json";
  CHECK_THAT(Find(), HasCode(absl::StatusCode::kNotFound));
}

TEST_CASE_METHOD(CredentialsTest, "A GCS user refreshes their token",
                 "[gcs][credentials]") {
  HttpServer::Asked got;
  const HttpServer server(
      [&got](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
        got = asked;
        peer.Answer(200, "", R"({"access_token": "t1", "expires_in": 100})");
      });
  Write("application_default_credentials.json",
        nlohmann::json({{"type", "authorized_user"},
                        {"client_id", "id"},
                        {"client_secret", "s&s"},
                        {"refresh_token", "r=r"},
                        {"token_uri", server.url() + "/token"}})
            .dump());
  const auto found = Find();
  REQUIRE_THAT(found, IsOk());
  const auto token = Fetch(**found);
  REQUIRE_THAT(token, IsOk());
  CHECK(token->value == "t1");
  CHECK(token->expires_nanos == wall_.NowNanos() + 100 * kSecond);
  CHECK(got.method + got.target == "POST/token");
  CHECK(got.body ==
        "grant_type=refresh_token&client_id=id&client_secret=s%26s"
        "&refresh_token=r%3Dr");
}

TEST_CASE_METHOD(CredentialsTest,
                 "The metadata server is asked last for GCS credentials",
                 "[gcs][credentials]") {
  std::atomic<int> status = 200;
  tests::ThreadChecks checks;
  const HttpServer server(
      [&](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
        checks.Check(asked.headers.at("metadata-flavor") == "Google",
                     "the request is not the metadata server's");
        const bool token = asked.target ==
                           "/computeMetadata/v1/instance/service-accounts/"
                           "default/token";
        peer.Answer(token ? status.load() : 200, "Metadata-Flavor: Google\r\n",
                    R"({"access_token": "m1", "expires_in": 3599,
                        "token_type": "Bearer"})");
      });
  environment_.metadata_host = server.url().substr(7);
  const auto found = Find();
  REQUIRE_THAT(found, IsOk());
  REQUIRE(*found != nullptr);
  CHECK(Fetch(**found)->value == "m1");
  status = 404;  // a VM without an account
  CHECK_THAT(Fetch(**found), HasCode(absl::StatusCode::kPermissionDenied));
  status = 503;
  CHECK_THAT(Fetch(**found), HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE_METHOD(CredentialsTest,
                 "Another server is not taken for a metadata server",
                 "[gcs][credentials]") {
  const HttpServer server([](const HttpServer::Asked&, HttpServer::Peer& peer) {
    peer.Answer(200, "", "welcome");
  });
  environment_.metadata_host = server.url().substr(7);
  CHECK(*Find() == nullptr);
}

TEST_CASE("The parser of a token answer checks every field",
          "[gcs][credentials]") {
  for (const char* json :
       {"", "[]", "{}", R"({"access_token": "t"})", R"({"expires_in": 1})",
        R"({"access_token": 1, "expires_in": 1})",
        R"({"access_token": "", "expires_in": 1})",
        R"({"access_token": "a\r\nEvil: b", "expires_in": 1})",
        R"({"access_token": "t", "expires_in": "1"})"}) {
    CAPTURE(json);
    CHECK_THAT(ParseTokenAnswer(json, 0), HasCode(absl::StatusCode::kDataLoss));
  }
  const std::string deep = R"({"access_token": "t", "expires_in": 1, "x": )" +
                           std::string(64, '[') + std::string(64, ']') + "}";
  CHECK(ParseTokenAnswer(deep, 0).status() ==
        absl::DataLossError("the answer is nested more than 64 deep"));
  CHECK(ParseTokenAnswer(R"({"access_token": "t", "expires_in": -9})", 5)
            ->expires_nanos == 5);
}

// A token source, whose requests the test answers.
class SlowSource final : public TokenSource {
 public:
  const std::string& name() const override { return name_; }
  void Fetch(std::function<void(absl::StatusOr<Token>)> done) override {
    ++fetches;
    done_ = std::move(done);
  }
  void HttpResponse(absl::StatusOr<Token> token) { done_(std::move(token)); }
  int fetches = 0;

 private:
  const std::string name_ = "a slow source";
  std::function<void(absl::StatusOr<Token>)> done_;
};

TEST_CASE("A kept token is fetched anew before it expires",
          "[gcs][credentials]") {
  SlowSource source;
  base::FakeClock wall;
  TokenCache cache(&source, &wall);
  std::vector<std::string> got;
  const auto ask = [&] {
    cache.Authorize(
        {}, [&](const absl::StatusOr<TokenCache::Headers>& headers) {
          got.push_back(headers.ok() ? headers->at(0)
                                     : std::string(headers.status().message()));
        });
  };
  ask();
  ask();
  CHECK(source.fetches == 1);
  CHECK(got.empty());
  source.HttpResponse(Token{"a", 3600 * kSecond});
  CHECK(got == std::vector<std::string>(2, "Authorization: Bearer a"));
  wall.Advance(3000 * kSecond);
  ask();
  CHECK(source.fetches == 1);
  // The token expires soon, so another one is requested. Callers do not wait
  // for it.
  wall.Advance(400 * kSecond);
  ask();
  ask();
  CHECK(source.fetches == 2);
  CHECK(got.size() == 5);
  source.HttpResponse(absl::UnavailableError("down"));
  ask();
  CHECK(source.fetches == 2);  // the failed fetch is not repeated at once
  CHECK(got.back() == "Authorization: Bearer a");
  wall.Advance(190 * kSecond);  // the token counts as expired
  ask();
  CHECK(got.size() == 6);
  source.HttpResponse(Token{"b", 9000 * kSecond});
  CHECK(got.back() == "Authorization: Bearer b");
}

TEST_CASE("A kept token that was refused is given to nobody",
          "[gcs][credentials]") {
  SlowSource source;
  base::FakeClock wall;
  TokenCache cache(&source, &wall);
  std::string got;
  const auto ask = [&] {
    cache.Authorize(
        {}, [&](const absl::StatusOr<TokenCache::Headers>& headers) {
          got = headers.ok() ? headers->at(0)
                             : std::string(headers.status().message());
        });
  };
  ask();
  source.HttpResponse(Token{"a", 3600 * kSecond});
  http::HttpResponse refusal;
  refusal.status = 403;
  CHECK_FALSE(cache.Refused({"Authorization: Bearer a"}, refusal));
  refusal.status = 401;
  CHECK(cache.Refused({"Authorization: Bearer older"}, refusal));
  ask();
  CHECK(source.fetches == 1);
  CHECK(cache.Refused({"Authorization: Bearer a"}, refusal));
  ask();
  CHECK(source.fetches == 2);
  source.HttpResponse(absl::PermissionDeniedError("no more"));
  CHECK(got == "no more");
}

}  // namespace
}  // namespace forebay::storage::gcs
