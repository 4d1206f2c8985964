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

// The value of a header "Content-Range: bytes 5-9/100".
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;                    // first <= last
  std::optional<std::uint64_t> object_size;  // > last; none: "*"
};

// Returns nullopt if it is malformed.
std::optional<ContentRange> ParseContentRange(std::string_view value);

// Returns a header such as "Range: bytes=5-9".
std::string RangeHeader(const ByteRange& range);

// Checks that an answer of success holds exactly `range` of an object of
// `object_size` bytes: 206 with the right Content-Range, or 200 for the whole
// object; and a complete body. Errors: FAILED_PRECONDITION (the object has
// another size), UNIMPLEMENTED (the whole object came instead of a part, or not
// as it is stored), UNAVAILABLE (another range came), DATA_LOSS (the body is
// too short or too long).
absl::Status CheckRange(const Answer& answer, const ByteRange& range,
                        std::uint64_t object_size);

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_CONTENT_RANGE_H_
