#ifndef FOREBAY_CLIENT_STATUS_H_
#define FOREBAY_CLIENT_STATUS_H_

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
  // Whether it may be otherwise in a while.
  bool MayPass() const {
    return code == FOREBAY_UNAVAILABLE || code == FOREBAY_SOURCE_UNAVAILABLE;
  }

  forebay_status code = FOREBAY_OK;
  std::string message;
};

// The status that stands for an absl::StatusCode of the daemon, which the
// library does not link.
forebay_status FromDaemonCode(unsigned code);

// `what` and the text of `error` (an errno), with the code that suits it.
Status ErrnoStatus(int error, const std::string& what);

}  // namespace forebay::client

#define FOREBAY_CLIENT_RETURN_IF_ERROR(expression)                       \
  do {                                                                   \
    if (::forebay::client::Status status_ = (expression); !status_.ok()) \
      return status_;                                                    \
  } while (false)

#endif  // FOREBAY_CLIENT_STATUS_H_
