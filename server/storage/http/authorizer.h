#ifndef FOREBAY_SERVER_STORAGE_HTTP_AUTHORIZER_H_
#define FOREBAY_SERVER_STORAGE_HTTP_AUTHORIZER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/storage/http/message.h"

namespace forebay::storage::http {

// Tells servers who makes a request. Used on one engine's thread only. The
// caller owns it; it must outlive the calls that use it. Never blocks. Errors
// of Authorize: PERMISSION_DENIED, INVALID_ARGUMENT (credentials that cannot be
// used; says which), UNAVAILABLE (a fault that may pass).
class Authorizer {
 public:
  virtual ~Authorizer() = default;

  // "Name: value", each.
  using Headers = std::vector<std::string>;

  // Calls `ready` once, perhaps before it returns, with the headers that the
  // next attempt at `request` has besides its own ("Authorization: Bearer
  // ..."), or none if it needs none.
  virtual void Authorize(
      const Request& request,
      std::function<void(absl::StatusOr<Headers>)> ready) = 0;

  // A server answered an attempt that had these headers with an error. Returns
  // whether it did not accept them, so that another attempt may do better:
  // Authorize does not give them again.
  virtual bool Refused(const Headers& headers, const Answer& answer) = 0;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_AUTHORIZER_H_
