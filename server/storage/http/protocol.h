#ifndef FOREBAY_SERVER_STORAGE_HTTP_PROTOCOL_H_
#define FOREBAY_SERVER_STORAGE_HTTP_PROTOCOL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"
#include "server/storage/http/answer_error.h"
#include "server/storage/http/message.h"

namespace forebay::storage::http {

// A range of at least one byte of an object.
struct HttpRange {
  std::uint64_t offset = 0;  // bytes
  std::uint64_t length = 0;  // bytes
};

// Makes the requests for ranges of objects on one kind of server, and checks
// the answers.
//
// Thread-safe and immutable; the caller owns it. Never blocks. Errors give the
// reason; the caller adds the object's name.
class Protocol {
 public:
  virtual ~Protocol() = default;

  // Returns the request for a range of the object that `read` names.
  // INVALID_ARGUMENT if the root of `read` is of another kind, or if no object
  // can have that name.
  virtual absl::StatusOr<HttpRequest> Ask(const ReadRequest& read,
                                          const HttpRange& range) const = 0;

  // Checks that an answer with a status of success has the bytes of `range`, in
  // the version that `read` asks for. Errors: FAILED_PRECONDITION (another
  // version), UNAVAILABLE or DATA_LOSS (another attempt may succeed).
  virtual absl::Status Judge(const ReadRequest& read, const HttpRange& range,
                             const HttpResponse& answer) const = 0;

  // Returns the URL that a redirect (3xx) leads to, or an error if the redirect
  // is not followed.
  virtual absl::StatusOr<std::string> Follow(const HttpResponse& answer) const {
    return Fault(answer);
  }

  // Returns the error of an answer whose status is not a success, with
  // ErrorOf's codes.
  virtual absl::Status Fault(const HttpResponse& answer) const {
    return ErrorOf(answer);
  }

  // Explains an error of Fault to the user, and keeps its code.
  virtual absl::Status Explain(const absl::Status& error) const {
    return error;
  }

  // Returns the CRC-32C of the whole object, if the answer tells it.
  virtual std::optional<std::uint32_t> Crc32cOf(
      const HttpResponse& answer) const = 0;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_PROTOCOL_H_
