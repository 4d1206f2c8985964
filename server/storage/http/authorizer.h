#ifndef FOREBAY_SERVER_STORAGE_HTTP_AUTHORIZER_H_
#define FOREBAY_SERVER_STORAGE_HTTP_AUTHORIZER_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace forebay::storage::http {

// Tells servers who makes a request. Used on one engine's thread only. The
// caller owns it; it must outlive the calls that use it. Never blocks. Errors
// of Authorize: PERMISSION_DENIED, INVALID_ARGUMENT (credentials that cannot be
// used; says which), UNAVAILABLE (a fault that may pass).
class Authorizer {
 public:
  virtual ~Authorizer() = default;

  // Calls `ready` once, perhaps before it returns, with a header for the next
  // request ("Authorization: Bearer ..."), or "" if it needs none.
  virtual void Authorize(
      std::function<void(absl::StatusOr<std::string>)> ready) = 0;

  // A server did not accept this header: Authorize must not give it again.
  virtual void Refused(const std::string& header) = 0;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_AUTHORIZER_H_
