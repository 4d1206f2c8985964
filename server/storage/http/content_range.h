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

// A header "Content-Range: bytes 5-9/100".
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;                    // first <= last
  std::optional<std::uint64_t> object_size;  // > last; none: "*"
};

// Nothing where it is malformed.
std::optional<ContentRange> ParseContentRange(std::string_view value);

// "Range: bytes=5-9"
std::string RangeHeader(const ByteRange& range);

// Whether an answer of success holds exactly `range` of an object of
// `object_size` bytes: 206 and the right Content-Range, or 200 where the whole
// object was asked for; and all of it. FAILED_PRECONDITION: the object has
// another size; UNIMPLEMENTED: all came instead of a part, or not as it is
// stored; UNAVAILABLE: another range came; DATA_LOSS: the body is too short or
// too long.
absl::Status CheckRange(const Answer& answer, const ByteRange& range,
                        std::uint64_t object_size);

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_CONTENT_RANGE_H_
