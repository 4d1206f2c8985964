#ifndef FOREBAY_SERVER_STORAGE_GCS_TOKEN_CACHE_H_
#define FOREBAY_SERVER_STORAGE_GCS_TOKEN_CACHE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/clock.h"
#include "server/storage/gcs/token_source.h"
#include "server/storage/http/authorizer.h"
#include "server/storage/http/message.h"

namespace forebay::storage::gcs {

// Keeps the token of a TokenSource for all requests, and fetches the next token
// before the present one expires. At most one fetch is under way. Requests wait
// for the fetch only if no good token is left.
//
// Only the thread of the http::Engine uses it. `source` and `wall` (nanoseconds
// since 1970) outlive it, and all Authorize calls are answered before it is
// destroyed. Never blocks. Errors are those of the source. While a token is
// good, a failed fetch does no harm.
class TokenCache final : public http::Authorizer {
 public:
  TokenCache(TokenSource* source, const base::Clock* wall)
      : source_(source), wall_(wall) {}

  void Authorize(const http::HttpRequest& request,
                 std::function<void(absl::StatusOr<Headers>)> ready) override;
  bool Refused(const Headers& headers,
               const http::HttpResponse& answer) override;

 private:
  // Fetches a token, unless a fetch is under way.
  void Fetch();
  // Takes the new token, and answers the requests that wait for it.
  void OnToken(absl::StatusOr<Token> token);

  TokenSource* const source_;
  const base::Clock* const wall_;
  // The header with the token; "" if there is none.
  std::string header_;
  std::int64_t expires_nanos_ = 0;
  // The beginning of the last fetch, by the wall clock.
  std::int64_t fetched_nanos_ = INT64_MIN / 2;
  bool fetching_ = false;
  std::vector<std::function<void(absl::StatusOr<Headers>)>> waiting_;
};

}  // namespace forebay::storage::gcs

#endif  // FOREBAY_SERVER_STORAGE_GCS_TOKEN_CACHE_H_
