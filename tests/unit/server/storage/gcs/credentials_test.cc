#include "server/storage/gcs/credentials.h"

#include <gtest/gtest.h>
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
#include "server/storage/gcs/kept_token.h"
#include "server/storage/http/engine.h"
#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::gcs {
namespace {

using http::HttpServer;

constexpr std::int64_t kSecond = 1'000'000'000;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

// Returns the key as PEM, locked by `passphrase` unless that is empty.
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
  EXPECT_TRUE(absl::WebSafeBase64Unescape(text, &plain));
  return plain;
}

class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest()
      : folder_(
            ::testing::TempDir() + "/" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name()),
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

TEST_F(CredentialsTest, WithoutAnyThereIsNobody) {
  const auto found = Find();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, nullptr);
}

TEST_F(CredentialsTest, AServiceAccountSignsItsOwnTokens) {
  const Key key(EVP_RSA_gen(2048), &EVP_PKEY_free);
  environment_.key_file =
      Write("key.json", nlohmann::json({{"type", "service_account"},
                                        {"client_email", "me@project"},
                                        {"private_key_id", "k1"},
                                        {"private_key", PemOf(key.get())}})
                            .dump());
  const auto found = Find();
  ASSERT_TRUE(found.ok()) << found.status();
  const auto token = Fetch(**found);
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_EQ(token->expires_nanos, wall_.NowNanos() + 3600 * kSecond);
  const std::vector<std::string> parts = absl::StrSplit(token->value, '.');
  ASSERT_EQ(parts.size(), 3);
  EXPECT_EQ(nlohmann::json::parse(Unescape(parts[0])),
            nlohmann::json({{"alg", "RS256"}, {"typ", "JWT"}, {"kid", "k1"}}));
  EXPECT_EQ(nlohmann::json::parse(Unescape(parts[1])),
            nlohmann::json({{"iss", "me@project"},
                            {"sub", "me@project"},
                            {"aud", "https://storage.googleapis.com/"},
                            {"iat", 1'700'000'000},
                            {"exp", 1'700'003'600}}));
  const std::string text = parts[0] + "." + parts[1];
  const std::string signature = Unescape(parts[2]);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(
      EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  ASSERT_EQ(EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr,
                                 key.get()),
            1);
  EXPECT_EQ(
      EVP_DigestVerify(context.get(),
                       reinterpret_cast<const unsigned char*>(signature.data()),
                       signature.size(),
                       reinterpret_cast<const unsigned char*>(text.data()),
                       text.size()),
      1);
}

// OpenSSL by itself would ask for the passphrase at the terminal, or else read
// it from the input. Either way it would wait for ever.
TEST_F(CredentialsTest, NobodyIsAskedForAPassphrase) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "secret\n", 7), 7);
  const int input = dup(STDIN_FILENO);
  ASSERT_EQ(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  const Key key(EVP_RSA_gen(2048), &EVP_PKEY_free);
  environment_.key_file =
      Write("locked.json",
            nlohmann::json({{"type", "service_account"},
                            {"client_email", "me@project"},
                            {"private_key", PemOf(key.get(), "secret")}})
                .dump());
  const absl::Status status = Find().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  dup2(input, STDIN_FILENO);
  for (const int fd : {input, ends[0], ends[1]}) close(fd);
}

TEST_F(CredentialsTest, FaultsInFilesAreTold) {
  for (const char* content :
       {"", "{}", R"({"type": "service_account"})",
        R"({"type": "service_account", "client_email": "a",
            "private_key": "hunter2"})",
        R"({"type": "authorized_user", "client_id": "hunter2"})"}) {
    environment_.key_file = Write("bad.json", content);
    const absl::Status status = Find().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << content;
    const std::string message(status.message());
    EXPECT_NE(message.find("bad.json: "), std::string::npos) << message;
    EXPECT_EQ(message.find("hunter2"), std::string::npos) << message;
  }
  for (const char* type : {"service_account", "authorized_user"}) {
    environment_.key_file =
        Write("deep.json", absl::StrCat("{\"type\": \"", type,
                                        "\", \"x\": ", std::string(20'000, '['),
                                        std::string(20'000, ']'), "}"));
    const absl::Status status = Find().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(),
              environment_.key_file + ": is nested more than 64 deep");
  }
  environment_.key_file = folder_ + "/missing.json";
  EXPECT_EQ(Find().status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CredentialsTest, AUserRefreshesTheirToken) {
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
  ASSERT_TRUE(found.ok()) << found.status();
  const auto token = Fetch(**found);
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_EQ(token->value, "t1");
  EXPECT_EQ(token->expires_nanos, wall_.NowNanos() + 100 * kSecond);
  EXPECT_EQ(got.method + got.target, "POST/token");
  EXPECT_EQ(got.body,
            "grant_type=refresh_token&client_id=id&client_secret=s%26s"
            "&refresh_token=r%3Dr");
}

TEST_F(CredentialsTest, TheMetadataServerIsAskedLast) {
  std::atomic<int> status = 200;
  const HttpServer server(
      [&](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
        EXPECT_EQ(asked.headers.at("metadata-flavor"), "Google");
        const bool token = asked.target ==
                           "/computeMetadata/v1/instance/service-accounts/"
                           "default/token";
        peer.Answer(token ? status.load() : 200, "Metadata-Flavor: Google\r\n",
                    R"({"access_token": "m1", "expires_in": 3599,
                        "token_type": "Bearer"})");
      });
  environment_.metadata_host = server.url().substr(7);
  const auto found = Find();
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_NE(*found, nullptr);
  EXPECT_EQ(Fetch(**found)->value, "m1");
  status = 404;  // a VM without an account
  EXPECT_EQ(Fetch(**found).status().code(),
            absl::StatusCode::kPermissionDenied);
  status = 503;
  EXPECT_EQ(Fetch(**found).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(CredentialsTest, AnotherServerIsNoMetadataServer) {
  const HttpServer server([](const HttpServer::Asked&, HttpServer::Peer& peer) {
    peer.Answer(200, "", "welcome");
  });
  environment_.metadata_host = server.url().substr(7);
  EXPECT_EQ(*Find(), nullptr);
}

TEST(ParseTokenAnswerTest, ChecksEveryField) {
  for (const char* json :
       {"", "[]", "{}", R"({"access_token": "t"})", R"({"expires_in": 1})",
        R"({"access_token": 1, "expires_in": 1})",
        R"({"access_token": "", "expires_in": 1})",
        R"({"access_token": "a\r\nEvil: b", "expires_in": 1})",
        R"({"access_token": "t", "expires_in": "1"})"})
    EXPECT_EQ(ParseTokenAnswer(json, 0).status().code(),
              absl::StatusCode::kDataLoss)
        << json;
  const std::string deep = R"({"access_token": "t", "expires_in": 1, "x": )" +
                           std::string(64, '[') + std::string(64, ']') + "}";
  EXPECT_EQ(ParseTokenAnswer(deep, 0).status(),
            absl::DataLossError("the answer is nested more than 64 deep"));
  EXPECT_EQ(ParseTokenAnswer(R"({"access_token": "t", "expires_in": -9})", 5)
                ->expires_nanos,
            5);
}

// Answers when the test says so.
class SlowSource final : public TokenSource {
 public:
  const std::string& name() const override { return name_; }
  void Fetch(std::function<void(absl::StatusOr<Token>)> done) override {
    ++fetches;
    done_ = std::move(done);
  }
  void Answer(absl::StatusOr<Token> token) { done_(std::move(token)); }
  int fetches = 0;

 private:
  const std::string name_ = "a slow source";
  std::function<void(absl::StatusOr<Token>)> done_;
};

TEST(KeptTokenTest, FetchesBeforeTheTokenExpires) {
  SlowSource source;
  base::FakeClock wall;
  KeptToken kept(&source, &wall);
  std::vector<std::string> got;
  const auto ask = [&] {
    kept.Authorize({}, [&](const absl::StatusOr<KeptToken::Headers>& headers) {
      got.push_back(headers.ok() ? headers->at(0)
                                 : std::string(headers.status().message()));
    });
  };
  ask();
  ask();
  EXPECT_EQ(source.fetches, 1);
  EXPECT_TRUE(got.empty());
  source.Answer(Token{"a", 3600 * kSecond});
  EXPECT_EQ(got, std::vector<std::string>(2, "Authorization: Bearer a"));
  wall.Advance(3000 * kSecond);
  ask();
  EXPECT_EQ(source.fetches, 1);
  wall.Advance(400 * kSecond);  // soon to expire: asked for, not waited for
  ask();
  ask();
  EXPECT_EQ(source.fetches, 2);
  EXPECT_EQ(got.size(), 5);
  source.Answer(absl::UnavailableError("down"));
  ask();
  EXPECT_EQ(source.fetches, 2);  // not at once again
  EXPECT_EQ(got.back(), "Authorization: Bearer a");
  wall.Advance(190 * kSecond);  // as good as expired
  ask();
  EXPECT_EQ(got.size(), 6);
  source.Answer(Token{"b", 9000 * kSecond});
  EXPECT_EQ(got.back(), "Authorization: Bearer b");
}

TEST(KeptTokenTest, ARefusedTokenIsGivenToNobody) {
  SlowSource source;
  base::FakeClock wall;
  KeptToken kept(&source, &wall);
  std::string got;
  const auto ask = [&] {
    kept.Authorize({}, [&](const absl::StatusOr<KeptToken::Headers>& headers) {
      got = headers.ok() ? headers->at(0)
                         : std::string(headers.status().message());
    });
  };
  ask();
  source.Answer(Token{"a", 3600 * kSecond});
  http::Answer refusal;
  refusal.status = 403;
  EXPECT_FALSE(kept.Refused({"Authorization: Bearer a"}, refusal));
  refusal.status = 401;
  EXPECT_TRUE(kept.Refused({"Authorization: Bearer older"}, refusal));
  ask();
  EXPECT_EQ(source.fetches, 1);
  EXPECT_TRUE(kept.Refused({"Authorization: Bearer a"}, refusal));
  ask();
  EXPECT_EQ(source.fetches, 2);
  source.Answer(absl::PermissionDeniedError("no more"));
  EXPECT_EQ(got, "no more");
}

}  // namespace
}  // namespace forebay::storage::gcs
