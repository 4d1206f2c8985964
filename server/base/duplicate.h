#ifndef FOREBAY_SERVER_BASE_DUPLICATE_H_
#define FOREBAY_SERVER_BASE_DUPLICATE_H_

#include <fcntl.h>

#include <cerrno>

#include "absl/status/statusor.h"
#include "server/base/fd.h"
#include "server/base/status.h"

namespace forebay::base {

// Returns another descriptor of the open file that `fd` refers to, closed on
// exec. RESOURCE_EXHAUSTED: the process has no descriptors left. Thread-safe;
// never blocks.
inline absl::StatusOr<Fd> Duplicate(int fd) {
  Fd duplicate(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!duplicate) return ErrnoStatus(errno, "duplicating a descriptor");
  return duplicate;
}

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_DUPLICATE_H_
