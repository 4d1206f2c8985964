#ifndef FOREBAY_CLIENT_BASE_STATUS_H_
#define FOREBAY_CLIENT_BASE_STATUS_H_

#include <string>
#include <utility>

#include "client/forebay.h"

namespace forebay::client {

// The outcome of a call inside the library: a code of the C interface and one
// sentence for people. Value type.
struct [[nodiscard]] Status {
  Status() = default;
  Status(forebay_status code, std::string message)
      : code(code), message(std::move(message)) {}

  bool ok() const { return code == FOREBAY_OK; }
  // Whether a later try may succeed.
  bool MayPass() const {
    return code == FOREBAY_UNAVAILABLE || code == FOREBAY_SOURCE_UNAVAILABLE;
  }

  forebay_status code = FOREBAY_OK;
  std::string message;
};

// The status for the daemon's absl::StatusCode; the library does not link
// Abseil.
forebay_status FromDaemonCode(unsigned code);

// `what` and the text of `error` (an errno), with the fitting code.
Status ErrnoStatus(int error, const std::string& what);

}  // namespace forebay::client

#define FOREBAY_CLIENT_RETURN_IF_ERROR(expression)                       \
  do {                                                                   \
    if (::forebay::client::Status status_ = (expression); !status_.ok()) \
      return status_;                                                    \
  } while (false)

#endif  // FOREBAY_CLIENT_BASE_STATUS_H_
