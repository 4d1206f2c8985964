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

// The reason why no complete answer came.
enum class HttpFailure {
  kNone,
  kInvalid,    // the request cannot be made: its URL is malformed
  kConnect,    // no such host, or no connection to it
  kUntrusted,  // the server's certificate is not one for the host
  kTimeout,    // no answer in time
  kStalled,    // the answer began, and then came too slowly
  kLost,       // the connection ended before the answer did
  kTooLong,    // the answer has more bytes than there is room for
  kProtocol,   // the answer is not HTTP
  kCancelled,  // the engine is going away
};

// The longest waits, in nanoseconds of the engine's clock.
struct Timeouts {
  // The wait for the first byte, connecting included.
  std::int64_t first_byte_nanos = 20'000'000'000;
  // The period within which `window_bytes` bytes must come, once the answer has
  // begun.
  std::int64_t window_nanos = 10'000'000'000;
  std::uint64_t window_bytes = 1;
};

// The answer to a request, whole or not.
struct HttpResponse {
  HttpFailure failure = HttpFailure::kNone;
  std::string reason;  // of the failure, for people
  int status = 0;      // the status code; 0 if none came
  // The headers in the order in which they came; their names are in lower case.
  std::vector<std::pair<std::string, std::string>> headers;
  // The wait that the server asks for (Retry-After); 0 if it asks for none.
  std::int64_t retry_after_nanos = 0;
  // The nanoseconds from the request to the first byte; 0 if none came.
  std::int64_t first_byte_nanos = 0;
  // The bytes that were written to HttpRequest::into.
  std::uint64_t filled = 0;
  // The body, unless it was written to HttpRequest::into. Only the first 4 KiB
  // of an error's body are kept.
  std::string body;

  // Whether the status is 2xx.
  bool IsSuccess() const { return status >= 200 && status < 300; }

  // Returns the value of the first header of this name (in lower case), or null
  // if there is none.
  const std::string* Header(std::string_view name) const {
    for (const auto& header : headers)
      if (header.first == name) return &header.second;
    return nullptr;
  }
};

// A request that the engine makes once.
struct HttpRequest {
  std::string method = "GET";        // GET, HEAD or POST
  std::string url;                   // its scheme is http or https
  std::vector<std::string> headers;  // "Name: value"
  std::string body;                  // the body of a POST
  // Whether the request bypasses any proxy that the environment names.
  bool direct = false;
  // Whether link-local addresses, such as the metadata server of a VM, are
  // refused. True for URLs that clients choose.
  bool refuse_link_local = false;
  Timeouts timeouts;

  // The memory for the body of an answer 2xx. A longer body is kTooLong. If
  // empty, the body goes to HttpResponse::body, at most `max_body` bytes.
  absl::Span<std::uint8_t> into;
  std::uint64_t max_body = 1 << 20;

  // Counts the bytes written to `into`, as they come. May be null; lasts as
  // long as `into`.
  std::uint64_t* arrived = nullptr;

  // Receives the engine's time whenever a part of the answer comes: the
  // beginning of its headers, or bytes of its body. May be null; lasts until
  // `done`, or until Cancel returns.
  std::int64_t* heard_nanos = nullptr;

  // Is called when an answer 2xx begins, before any write to `into`. If it
  // returns false, the request ends as kCancelled. May be empty. `begins` may
  // call nothing of the engine but Post.
  std::function<bool()> begins;
  // Receives the answer, once.
  std::function<void(HttpResponse)> done;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_MESSAGE_H_
