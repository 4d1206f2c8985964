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

// Bytes of an object, at least one.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// Makes the requests for ranges of objects of a kind of server, and checks its
// answers. Thread-safe and immutable; the caller owns it. Never blocks. Errors
// give the reason and leave the object's name to the caller.
class Protocol {
 public:
  virtual ~Protocol() = default;

  // Returns the request for a range of the object that `read` names.
  // INVALID_ARGUMENT: a root of another kind, a name that no object can have.
  virtual absl::StatusOr<Request> Ask(const ReadRequest& read,
                                      const ByteRange& range) const = 0;

  // Checks that an answer of success has that range of that version of the
  // object. Errors: FAILED_PRECONDITION (another version), UNAVAILABLE or
  // DATA_LOSS (another try may do better).
  virtual absl::Status Judge(const ReadRequest& read, const ByteRange& range,
                             const Answer& answer) const = 0;

  // Returns the URL that a redirect (3xx) leads to. An error if it is none that
  // is followed.
  virtual absl::StatusOr<std::string> Follow(const Answer& answer) const {
    return Fault(answer);
  }

  // Returns the error of an answer that is no success, with ErrorOf's codes.
  virtual absl::Status Fault(const Answer& answer) const {
    return ErrorOf(answer);
  }

  // Explains an error of Fault for such a read; keeps its code.
  virtual absl::Status Explain(const absl::Status& error) const {
    return error;
  }

  // Returns the CRC32C of the whole object, if the answer tells it.
  virtual std::optional<std::uint32_t> Crc32cOf(const Answer& answer) const = 0;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_PROTOCOL_H_
