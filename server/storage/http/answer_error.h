#ifndef FOREBAY_SERVER_STORAGE_HTTP_ANSWER_ERROR_H_
#define FOREBAY_SERVER_STORAGE_HTTP_ANSWER_ERROR_H_

#include "absl/status/status.h"
#include "server/storage/http/message.h"

namespace forebay::storage::http {

// Returns the status of a read that got this answer, with ByteSource's codes.
// OK if the answer is whole and its status is 2xx. UNAVAILABLE if the fault may
// pass. The message gives the reason; the caller adds the object's name. The
// message quotes the server's text, cut short and in printable characters only.
// Thread-safe; never blocks.
absl::Status ErrorOf(const HttpResponse& answer);

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_ANSWER_ERROR_H_
