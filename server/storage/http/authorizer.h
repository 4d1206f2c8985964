#ifndef FOREBAY_SERVER_STORAGE_HTTP_AUTHORIZER_H_
#define FOREBAY_SERVER_STORAGE_HTTP_AUTHORIZER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/storage/http/message.h"

namespace forebay::storage::http {

// Gives requests the headers that tell servers who makes them.
//
// Only the thread of the Engine uses it. The caller owns it; it outlives the
// calls that use it. Never blocks. Errors of Authorize: PERMISSION_DENIED and
// INVALID_ARGUMENT (credentials that cannot be used; the message names them),
// UNAVAILABLE (a fault that may pass).
class Authorizer {
 public:
  virtual ~Authorizer() = default;

  // Header lines of the form "Name: value".
  using Headers = std::vector<std::string>;

  // Calls `ready` once, perhaps before it returns, with the headers to add to
  // the next attempt at `request`, such as "Authorization: Bearer ...". The
  // list is empty if the request needs none.
  virtual void Authorize(
      const HttpRequest& request,
      std::function<void(absl::StatusOr<Headers>)> ready) = 0;

  // Takes note that a server gave the error `answer` to an attempt that had
  // these headers. Returns whether the headers were the reason. If so,
  // Authorize next gives other headers, with which another attempt may succeed.
  virtual bool Refused(const Headers& headers, const HttpResponse& answer) = 0;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_AUTHORIZER_H_
