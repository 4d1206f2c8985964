#include "server/storage/gcs/oauth_tokens.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/json.h"
#include "server/base/status.h"
#include "server/storage/http/awaited_call.h"
#include "server/storage/http/url.h"

namespace forebay::storage::gcs {
namespace {

constexpr std::uint64_t kMaxAnswerBytes = 64 << 10;

std::string StringIn(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return "";
  return found->get<std::string>();
}

}  // namespace

OauthTokens::OauthTokens(http::Client* client, const base::Clock* wall,
                         std::string name, http::HttpRequest request)
    : client_(client),
      wall_(wall),
      name_(std::move(name)),
      request_(std::move(request)) {}

std::unique_ptr<OauthTokens> OauthTokens::OfMetadataServer(
    http::Client* client, const base::Clock* wall, std::string_view host) {
  http::HttpRequest request;
  request.url = absl::StrCat(
      "http://", std::string(host),
      "/computeMetadata/v1/instance/service-accounts/default/token");
  request.headers = {"Metadata-Flavor: Google"};
  request.direct = true;
  request.max_body = kMaxAnswerBytes;
  return std::unique_ptr<OauthTokens>(new OauthTokens(
      client, wall, "the metadata server's account", std::move(request)));
}

absl::StatusOr<std::unique_ptr<OauthTokens>> OauthTokens::OfUser(
    http::Client* client, const base::Clock* wall, std::string_view json) {
  FOREBAY_ASSIGN_OR_RETURN(const nlohmann::json file,
                           base::ParseJsonObject(json));
  if (StringIn(file, "type") != "authorized_user")
    return absl::InvalidArgumentError("holds no credentials of a user");
  const std::string id = StringIn(file, "client_id");
  const std::string secret = StringIn(file, "client_secret");
  const std::string refresh = StringIn(file, "refresh_token");
  if (id.empty() || secret.empty() || refresh.empty())
    return absl::InvalidArgumentError(
        "lacks client_id, client_secret or refresh_token");
  http::HttpRequest request;
  request.method = "POST";
  const std::string uri = StringIn(file, "token_uri");
  request.url = uri.empty() ? "https://oauth2.googleapis.com/token" : uri;
  request.headers = {"Content-Type: application/x-www-form-urlencoded"};
  request.body = absl::StrCat(
      "grant_type=refresh_token&client_id=", http::EscapeComponent(id),
      "&client_secret=", http::EscapeComponent(secret),
      "&refresh_token=", http::EscapeComponent(refresh));
  request.max_body = kMaxAnswerBytes;
  return std::unique_ptr<OauthTokens>(
      new OauthTokens(client, wall, "gcloud's application default credentials",
                      std::move(request)));
}

void OauthTokens::Fetch(std::function<void(absl::StatusOr<Token>)> done) {
  http::Call call;
  call.request = request_;
  // All requests wait for the token, so its call has bounded patience.
  call.attempts = http::kAwaitedAttempts;
  call.patience = http::kAwaitedPatience;
  call.judge = [this](const http::HttpResponse& answer) {
    return ParseTokenAnswer(answer.body, wall_->NowNanos()).status();
  };
  call.done = [this, done = std::move(done)](
                  const absl::StatusOr<http::HttpResponse>& answer) {
    if (answer.ok())
      return done(ParseTokenAnswer(answer->body, wall_->NowNanos()));
    // A refused token is a refused read. A code such as NOT_FOUND would seem to
    // be about the object.
    const bool passing = http::RetryPolicy::MayPass(answer.status()) ||
                         absl::IsCancelled(answer.status());
    done(base::Annotate(
        passing ? answer.status()
                : absl::PermissionDeniedError(answer.status().message()),
        name_));
  };
  client_->Start(std::move(call));
}

}  // namespace forebay::storage::gcs
