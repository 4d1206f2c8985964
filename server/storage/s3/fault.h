#ifndef FOREBAY_SERVER_STORAGE_S3_FAULT_H_
#define FOREBAY_SERVER_STORAGE_S3_FAULT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "server/storage/http/message.h"

namespace forebay::storage::s3 {

// The error in an answer whose status is not a success. Its texts are "" where
// the server names none.
struct Fault {
  std::string code;     // such as "AccessDenied"
  std::string message;  // human-readable
  std::string region;   // the region of the bucket
};

// Returns the error that an answer names, in its headers or its XML.
// Thread-safe; never blocks.
Fault FaultIn(const http::HttpResponse& answer);

// Returns the error of an answer whose status is not a success, with ErrorOf's
// codes. The message names the remedy, if there is one. Thread-safe; never
// blocks.
absl::Status FaultOf(const http::HttpResponse& answer);

}  // namespace forebay::storage::s3

#endif  // FOREBAY_SERVER_STORAGE_S3_FAULT_H_
