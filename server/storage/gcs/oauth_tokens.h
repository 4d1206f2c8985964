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
// OAuth 2 server for a user's refresh token (RFC 6749, section 6).
//
// Only the thread of the client's engine calls Fetch. `client` and `wall`
// (nanoseconds since 1970) outlive it, and the client's calls are over before
// it is destroyed. Never blocks. Errors are as TokenSource says.
class OauthTokens final : public TokenSource {
 public:
  // Returns the tokens of the VM's default account, from
  // http://HOST/computeMetadata/v1/....
  static std::unique_ptr<OauthTokens> OfMetadataServer(http::Client* client,
                                                       const base::Clock* wall,
                                                       std::string_view host);
  // Returns the tokens of a user. `json` is the content of gcloud's
  // application_default_credentials.json. INVALID_ARGUMENT says what is wrong
  // with the file, and never quotes its content; the caller adds the file's
  // name.
  static absl::StatusOr<std::unique_ptr<OauthTokens>> OfUser(
      http::Client* client, const base::Clock* wall, std::string_view json);

  const std::string& name() const override { return name_; }
  void Fetch(std::function<void(absl::StatusOr<Token>)> done) override;

 private:
  OauthTokens(http::Client* client, const base::Clock* wall, std::string name,
              http::HttpRequest request);

  http::Client* const client_;
  const base::Clock* const wall_;
  const std::string name_;
  const http::HttpRequest request_;
};

}  // namespace forebay::storage::gcs

#endif  // FOREBAY_SERVER_STORAGE_GCS_OAUTH_TOKENS_H_
