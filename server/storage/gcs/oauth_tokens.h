#ifndef FOREBAY_SERVER_STORAGE_GCS_OAUTH_TOKENS_H_
#define FOREBAY_SERVER_STORAGE_GCS_OAUTH_TOKENS_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/base/clock.h"
#include "server/storage/gcs/token_source.h"
#include "server/storage/http/client.h"
#include "server/storage/http/message.h"

namespace forebay::storage::gcs {

// Tokens that a server hands out: the metadata server of a VM, or Google's
// OAuth 2 server for a user's refresh token. `client` and `wall` (nanoseconds
// since 1970) must outlive it, and the client's calls must be over before it is
// destroyed. Errors as TokenSource says.
class OauthTokens final : public TokenSource {
 public:
  // Asks http://HOST/computeMetadata/v1/... for the VM's default account.
  static std::unique_ptr<OauthTokens> OfMetadataServer(http::Client* client,
                                                       const base::Clock* wall,
                                                       std::string_view host);
  // `json` is the content of gcloud's application_default_credentials.json.
  // INVALID_ARGUMENT says what is wrong with it, never its content, and leaves
  // its name to the caller.
  static absl::StatusOr<std::unique_ptr<OauthTokens>> OfUser(
      http::Client* client, const base::Clock* wall, std::string_view json);

  const std::string& name() const override { return name_; }
  void Fetch(std::function<void(absl::StatusOr<Token>)> done) override;

 private:
  OauthTokens(http::Client* client, const base::Clock* wall, std::string name,
              http::Request request);

  http::Client* const client_;
  const base::Clock* const wall_;
  const std::string name_;
  const http::Request request_;
};

}  // namespace forebay::storage::gcs

#endif  // FOREBAY_SERVER_STORAGE_GCS_OAUTH_TOKENS_H_
