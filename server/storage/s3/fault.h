#ifndef FOREBAY_SERVER_STORAGE_S3_FAULT_H_
#define FOREBAY_SERVER_STORAGE_S3_FAULT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "server/storage/http/message.h"

namespace forebay::storage::s3 {

// The error in an answer that is no success; "" where the server names none.
struct Fault {
  std::string code;     // "AccessDenied"
  std::string message;  // for people
  std::string region;   // the bucket's
};

Fault FaultIn(const http::Answer& answer);

// Returns the error of an answer that is no success, with ErrorOf's codes. The
// message names the remedy, if there is one.
absl::Status FaultOf(const http::Answer& answer);

}  // namespace forebay::storage::s3

#endif  // FOREBAY_SERVER_STORAGE_S3_FAULT_H_
