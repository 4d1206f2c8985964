#include "client/base/status.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

namespace forebay::client {

// The numbers are those of absl::StatusCode, which are gRPC's. The daemon gives
// three of them its own meaning. UNKNOWN: the user's code failed. DATA_LOSS: a
// sample cannot be used. UNAVAILABLE: a source cannot be reached.
// FOREBAY_UNAVAILABLE means that the daemon itself is away.
forebay_status FromDaemonCode(unsigned code) {
  switch (code) {
    case 0:
      return FOREBAY_OK;
    case 3:   // INVALID_ARGUMENT
    case 11:  // OUT_OF_RANGE
      return FOREBAY_INVALID_ARGUMENT;
    case 5:  // NOT_FOUND
      return FOREBAY_NOT_FOUND;
    case 7:   // PERMISSION_DENIED
    case 16:  // UNAUTHENTICATED
      return FOREBAY_PERMISSION_DENIED;
    case 8:  // RESOURCE_EXHAUSTED
      return FOREBAY_RESOURCE_EXHAUSTED;
    case 6:   // ALREADY_EXISTS
    case 9:   // FAILED_PRECONDITION
    case 10:  // ABORTED
      return FOREBAY_FAILED_PRECONDITION;
    case 12:  // UNIMPLEMENTED
      return FOREBAY_UNIMPLEMENTED;
    case 1:  // CANCELLED
    case 4:  // DEADLINE_EXCEEDED
      return FOREBAY_UNAVAILABLE;
    case 14:  // UNAVAILABLE
      return FOREBAY_SOURCE_UNAVAILABLE;
    case 2:  // UNKNOWN
      return FOREBAY_PRODUCER_FAILED;
    case 15:  // DATA_LOSS
      return FOREBAY_DATA_ERROR;
    default:  // INTERNAL (13), and numbers that gRPC does not have
      return FOREBAY_INTERNAL;
  }
}

Status ErrnoStatus(int error, const std::string& what) {
  forebay_status code = FOREBAY_INTERNAL;
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      code = FOREBAY_NOT_FOUND;
      break;
    case EACCES:
    case EPERM:
    case ELOOP:
      code = FOREBAY_PERMISSION_DENIED;
      break;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      code = FOREBAY_RESOURCE_EXHAUSTED;
      break;
    default:
      break;
  }
  char text[128];
  std::string message = what + ": " + strerror_r(error, text, sizeof text);
  struct rlimit limit;
  if (error == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
    message += " (the limit of this process is " +
               std::to_string(limit.rlim_cur) + ": ulimit -n raises it)";
  return Status(code, message);
}

}  // namespace forebay::client
