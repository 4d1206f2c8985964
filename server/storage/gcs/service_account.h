#ifndef FOREBAY_SERVER_STORAGE_GCS_SERVICE_ACCOUNT_H_
#define FOREBAY_SERVER_STORAGE_GCS_SERVICE_ACCOUNT_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "server/base/clock.h"
#include "server/storage/gcs/token_source.h"

namespace forebay::storage::gcs {

// A service account's key. This source signs its tokens itself, without any
// request: each token is a JWT with RS256 that lasts an hour. Source:
// "Self-signed JWT", AIP-4111.
//
// Thread-safe and immutable. `wall` (nanoseconds since 1970) outlives it. Fetch
// takes a millisecond of CPU time and calls `done` before it returns. Never
// blocks. Errors are as TokenSource says.
class ServiceAccount final : public TokenSource {
 public:
  // Returns the account. `json` is the key file's content. INVALID_ARGUMENT
  // says what is wrong with the file, and never quotes its content; the caller
  // adds the file's name.
  static absl::StatusOr<std::unique_ptr<ServiceAccount>> Parse(
      std::string_view json, const base::Clock* wall);

  const std::string& name() const override { return name_; }
  void Fetch(std::function<void(absl::StatusOr<Token>)> done) override;

 private:
  ServiceAccount(std::string email, std::string key_id,
                 std::shared_ptr<void> key, const base::Clock* wall)
      : email_(std::move(email)),
        name_("the service account " + email_),
        key_id_(std::move(key_id)),
        key_(std::move(key)),
        wall_(wall) {}

  // Returns a token that is valid for an hour from now.
  absl::StatusOr<Token> Sign() const;

  const std::string email_;
  const std::string name_;
  const std::string key_id_;
  const std::shared_ptr<void> key_;  // EVP_PKEY
  const base::Clock* const wall_;
};

}  // namespace forebay::storage::gcs

#endif  // FOREBAY_SERVER_STORAGE_GCS_SERVICE_ACCOUNT_H_
