#ifndef FOREBAY_SERVER_STORAGE_HTTP_MESSAGE_H_
#define FOREBAY_SERVER_STORAGE_HTTP_MESSAGE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace forebay::storage::http {

// The reason why no whole answer came.
enum class Failure {
  kNone,
  kInvalid,    // the request cannot be made: a URL that is none
  kConnect,    // no such host, or no connection to it
  kUntrusted,  // the server's certificate does not say that it is the host
  kTimeout,    // no answer in time
  kStalled,    // the answer began, and then came too slowly
  kLost,       // the connection ended before the answer did
  kTooLong,    // the answer has more bytes than there is room for
  kProtocol,   // the answer is no HTTP
  kCancelled,  // the engine is going away
};

// The longest waits, in nanoseconds of the engine's clock.
struct Timeouts {
  std::int64_t first_byte_nanos = 20'000'000'000;  // connecting included
  // Once the answer has begun, each such time must bring `window_bytes`.
  std::int64_t window_nanos = 10'000'000'000;
  std::uint64_t window_bytes = 1;
};

struct Answer {
  Failure failure = Failure::kNone;
  std::string reason;  // of the failure, for people
  int status = 0;      // 0: none came
  // Names in lower case, in the order in which they came.
  std::vector<std::pair<std::string, std::string>> headers;
  std::int64_t retry_after_nanos = 0;  // as the server asks; 0: it does not
  std::int64_t first_byte_nanos = 0;   // after the request; 0: none came
  // Bytes written to Request::into.
  std::uint64_t filled = 0;
  // The body if it went nowhere else; of an error, its first 4 KiB.
  std::string body;

  bool IsSuccess() const { return status >= 200 && status < 300; }

  // Returns the value of the first header of this name (in lower case), or
  // null.
  const std::string* Header(std::string_view name) const {
    for (const auto& header : headers)
      if (header.first == name) return &header.second;
    return nullptr;
  }
};

struct Request {
  std::string method = "GET";        // GET, HEAD or POST
  std::string url;                   // http or https
  std::vector<std::string> headers;  // "Name: value"
  std::string body;                  // of POST
  bool direct = false;  // past any proxy that the environment names
  // Refuses link-local addresses, such as the metadata server of a VM: for URLs
  // that clients choose.
  bool refuse_link_local = false;
  Timeouts timeouts;

  // The memory for the body of an answer 2xx; a longer body is kTooLong. If
  // empty, the body goes to Answer::body, at most `max_body` bytes.
  absl::Span<std::uint8_t> into;
  std::uint64_t max_body = 1 << 20;

  // Counts the bytes written to `into`, as they come. May be null; must last as
  // long as `into`.
  std::uint64_t* arrived = nullptr;

  // Set to the engine's time whenever a part of the answer comes: the begin of
  // its headers, or bytes of its body. May be null; must last until `done`, or
  // until Cancel returns.
  std::int64_t* heard_nanos = nullptr;

  // Called when an answer 2xx begins, before any write to `into`; if it returns
  // false, the request ends as kCancelled. May be empty. May call nothing of
  // the engine but Post.
  std::function<bool()> begins;
  // Called once.
  std::function<void(Answer)> done;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_MESSAGE_H_
