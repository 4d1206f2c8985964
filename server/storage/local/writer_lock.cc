#include "server/storage/local/writer_lock.h"

#include <sys/file.h>

#include <cerrno>

#include "server/base/fd.h"
#include "server/base/status.h"

namespace forebay::storage::local {

absl::StatusOr<bool> IsLockedByWriter(const LocalRoot& root,
                                      std::string_view path) {
  FOREBAY_ASSIGN_OR_RETURN(const base::Fd file, root.Open(path));
  // Closing the descriptor drops the lock.
  int result = 0;
  do {
    result = flock(file.get(), LOCK_SH | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result != 0 && errno == EWOULDBLOCK;
}

}  // namespace forebay::storage::local
