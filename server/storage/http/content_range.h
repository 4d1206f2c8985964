#ifndef FOREBAY_SERVER_STORAGE_HTTP_CONTENT_RANGE_H_
#define FOREBAY_SERVER_STORAGE_HTTP_CONTENT_RANGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "server/storage/http/message.h"
#include "server/storage/http/protocol.h"

namespace forebay::storage::http {

// The value of a header "Content-Range: bytes 5-9/100" (RFC 9110, 14.4).
struct ContentRange {
  std::uint64_t first = 0;
  // The last byte of the range, which is not before `first`.
  std::uint64_t last = 0;
  // The bytes of the whole object, more than `last`. Nothing if the header has
  // "*".
  std::optional<std::uint64_t> object_size;
};

// Returns the value of the header, or nullopt if it is malformed. Thread-safe;
// never blocks.
std::optional<ContentRange> ParseContentRange(std::string_view value);

// Returns the header line of a request for a range, such as "Range: bytes=5-9"
// (RFC 9110, 14.2).
std::string RangeHeader(const HttpRange& range);

// Checks that an answer with a status of success holds exactly `range` of an
// object of `object_size` bytes. The answer must be 206 with the right
// Content-Range, or 200 for the whole object, and its body must be complete.
// Thread-safe; never blocks. Errors:
// - FAILED_PRECONDITION: the object has another size.
// - UNIMPLEMENTED: the server sent the whole object instead of a part, or
//   compressed it for this answer.
// - UNAVAILABLE: another range came.
// - DATA_LOSS: the body is too short or too long.
absl::Status CheckRange(const HttpResponse& answer, const HttpRange& range,
                        std::uint64_t object_size);

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_CONTENT_RANGE_H_
