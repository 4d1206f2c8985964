#ifndef FOREBAY_SERVER_STORAGE_HTTP_ANSWER_ERROR_H_
#define FOREBAY_SERVER_STORAGE_HTTP_ANSWER_ERROR_H_

#include "absl/status/status.h"
#include "server/storage/http/message.h"

namespace forebay::storage::http {

// Returns the status of a read with this answer, with ByteSource's codes: OK if
// it came whole and with a status of success; UNAVAILABLE is a fault that may
// pass. The message gives the reason, and leaves the object's name to the
// caller. It shows the server's text as printable characters, cut short.
absl::Status ErrorOf(const Answer& answer);

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_ANSWER_ERROR_H_
