#ifndef FOREBAY_SERVER_STORAGE_GCS_KEPT_TOKEN_H_
#define FOREBAY_SERVER_STORAGE_GCS_KEPT_TOKEN_H_

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

// Keeps the token of a source for all requests, and fetches the next before it
// expires. Makes at most one fetch at a time; requests wait for it only if
// there is no good token left.
//
// Used on one engine's thread only. `source` and `wall` (nanoseconds since
// 1970) must outlive it; all Authorize calls must be answered before it is
// destroyed. Never blocks. Errors: those of the source; while a token is good,
// a failed fetch does no harm.
class KeptToken final : public http::Authorizer {
 public:
  KeptToken(TokenSource* source, const base::Clock* wall)
      : source_(source), wall_(wall) {}

  void Authorize(const http::Request& request,
                 std::function<void(absl::StatusOr<Headers>)> ready) override;
  bool Refused(const Headers& headers, const http::Answer& answer) override;

 private:
  void Fetch();
  void OnToken(absl::StatusOr<Token> token);

  TokenSource* const source_;
  const base::Clock* const wall_;
  std::string header_;  // "": none
  std::int64_t expires_nanos_ = 0;
  std::int64_t fetched_nanos_ = INT64_MIN / 2;  // the last time
  bool fetching_ = false;
  std::vector<std::function<void(absl::StatusOr<Headers>)>> waiting_;
};

}  // namespace forebay::storage::gcs

#endif  // FOREBAY_SERVER_STORAGE_GCS_KEPT_TOKEN_H_
