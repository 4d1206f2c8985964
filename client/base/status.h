#ifndef FOREBAY_CLIENT_BASE_STATUS_H_
#define FOREBAY_CLIENT_BASE_STATUS_H_

#include <string>
#include <utility>

#include "client/forebay.h"

namespace forebay::client {

// The outcome of a call inside the library: a code of the C interface and one
// sentence for people. Several threads may read a Status at once, if no thread
// writes it. Never blocks.
struct [[nodiscard]] Status {
  Status() = default;
  Status(forebay_status code, std::string message)
      : code(code), message(std::move(message)) {}

  bool ok() const { return code == FOREBAY_OK; }
  // Whether the fault may go away by itself, so that a later try may succeed.
  bool MayPass() const {
    return code == FOREBAY_UNAVAILABLE || code == FOREBAY_SOURCE_UNAVAILABLE;
  }

  forebay_status code = FOREBAY_OK;
  std::string message;
};

// Returns the status for an absl::StatusCode that the daemon has sent. The
// library does not link Abseil, so the codes arrive as numbers.
forebay_status FromDaemonCode(unsigned code);

// Returns a status for the errno `error`: a fitting code, and a message that
// consists of `what` and the error's text.
Status ErrnoStatus(int error, const std::string& what);

}  // namespace forebay::client

// Returns from the calling function with the status of `expression`, unless
// that status is ok.
#define FOREBAY_CLIENT_RETURN_IF_ERROR(expression)                       \
  do {                                                                   \
    if (::forebay::client::Status status_ = (expression); !status_.ok()) \
      return status_;                                                    \
  } while (false)

#endif  // FOREBAY_CLIENT_BASE_STATUS_H_
