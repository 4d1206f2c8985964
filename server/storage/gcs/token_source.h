#ifndef FOREBAY_SERVER_STORAGE_GCS_TOKEN_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_GCS_TOKEN_SOURCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace forebay::storage::gcs {

// A credential that a server accepts.
struct Token {
  std::string value;
  // The end of the token's life, in nanoseconds of the wall clock.
  std::int64_t expires_nanos = 0;
};

// Fetches tokens.
//
// Only the thread of the http::Engine uses it. The caller owns it; it outlives
// the calls that it makes. Never blocks. Errors of Fetch name the credentials:
// PERMISSION_DENIED, INVALID_ARGUMENT (the credentials cannot be used),
// UNAVAILABLE (a fault that may pass, retried in vain).
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  // Returns the human-readable name of the tokens' account.
  virtual const std::string& name() const = 0;
  // Calls `done` once, perhaps before it returns, with a new token.
  virtual void Fetch(std::function<void(absl::StatusOr<Token>)> done) = 0;
};

// Parses the answer of an OAuth 2 server: {"access_token", "expires_in"} (RFC
// 6749, 5.1). `now_nanos` is the wall clock's time. DATA_LOSS if the answer is
// malformed.
absl::StatusOr<Token> ParseTokenAnswer(std::string_view json,
                                       std::int64_t now_nanos);

}  // namespace forebay::storage::gcs

#endif  // FOREBAY_SERVER_STORAGE_GCS_TOKEN_SOURCE_H_
