#include "server/storage/gcs/gcs_credentials.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/gcs/oauth_tokens.h"
#include "server/storage/gcs/service_account.h"
#include "server/storage/http/awaited_call.h"
#include "server/storage/small_file.h"

namespace forebay::storage::gcs {
namespace {

// The nanoseconds in which a metadata server must answer. They are few, since
// it runs on the VM's own host.
constexpr std::int64_t kMetadataTimeout = 2'000'000'000;

std::string FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the token source for a file of credentials, a user's or a service
// account's.
absl::StatusOr<std::unique_ptr<TokenSource>> ParseFile(
    const std::string& path, const std::string& content, http::Client* client,
    const base::Clock* wall) {
  auto user = OauthTokens::OfUser(client, wall, content);
  if (user.ok()) return std::unique_ptr<TokenSource>(*std::move(user));
  auto account = ServiceAccount::Parse(content, wall);
  if (account.ok()) return std::unique_ptr<TokenSource>(*std::move(account));
  const bool is_user = content.find("authorized_user") != content.npos;
  return base::Annotate(is_user ? user.status() : account.status(), path);
}

// Whether a metadata server answers, and not some other server.
bool HasMetadataServer(const std::string& host, http::Client* client) {
  http::Call call;
  call.request.url = absl::StrCat("http://", host, "/");
  call.request.headers = {"Metadata-Flavor: Google"};
  call.request.direct = true;
  call.request.timeouts.first_byte_nanos = kMetadataTimeout;
  bool is_one = false;
  call.judge = [&is_one](const http::HttpResponse& answer) {
    const std::string* const flavor = answer.Header("metadata-flavor");
    is_one = flavor != nullptr && *flavor == "Google";
    return absl::OkStatus();
  };
  call.attempts = 1;
  const auto answer = http::Await(client, std::move(call));
  return answer.ok() && is_one;
}

}  // namespace

CredentialsEnvironment CredentialsEnvironment::OfProcess() {
  CredentialsEnvironment environment;
  environment.key_file = FromEnvironment("GOOGLE_APPLICATION_CREDENTIALS");
  environment.gcloud = FromEnvironment("CLOUDSDK_CONFIG");
  const std::string home = FromEnvironment("HOME");
  if (environment.gcloud.empty() && !home.empty())
    environment.gcloud = absl::StrCat(home, "/.config/gcloud");
  environment.metadata_host = FromEnvironment("GCE_METADATA_HOST");
  if (environment.metadata_host.empty())
    environment.metadata_host = "metadata.google.internal";
  return environment;
}

absl::StatusOr<std::unique_ptr<TokenSource>> FindCredentials(
    const CredentialsEnvironment& environment, http::Client* client,
    const base::Clock* wall) {
  if (!environment.key_file.empty()) {
    FOREBAY_ASSIGN_OR_RETURN(const std::string content,
                             ReadSmallFile(environment.key_file));
    return ParseFile(environment.key_file, content, client, wall);
  }
  if (!environment.gcloud.empty()) {
    const std::string path = absl::StrCat(
        environment.gcloud, "/application_default_credentials.json");
    const auto content = ReadSmallFile(path);
    if (content.ok()) return ParseFile(path, *content, client, wall);
    if (!absl::IsNotFound(content.status())) return content.status();
  }
  if (!environment.metadata_host.empty() &&
      HasMetadataServer(environment.metadata_host, client))
    return std::unique_ptr<TokenSource>(
        OauthTokens::OfMetadataServer(client, wall, environment.metadata_host));
  return std::unique_ptr<TokenSource>();
}

}  // namespace forebay::storage::gcs
