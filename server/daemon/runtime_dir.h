#ifndef FOREBAY_SERVER_DAEMON_RUNTIME_DIR_H_
#define FOREBAY_SERVER_DAEMON_RUNTIME_DIR_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/base/fd.h"

namespace forebay::daemon {

// The directory of the daemon's sockets, and the lock that makes it the only
// daemon there. Immutable and thread-safe; owns the lock. Open blocks for file
// I/O. Errors name the path: ALREADY_EXISTS (another daemon runs there),
// PERMISSION_DENIED (it is another user's, or open to others), and what the
// file system says.
class RuntimeDir {
 public:
  // Creates the directory (0700) if it is not there. An empty path means
  // $FOREBAY_RUNTIME_DIR, else systemd's $RUNTIME_DIRECTORY, else
  // $XDG_RUNTIME_DIR/forebay if that directory is there, else /tmp/forebay-UID.
  static absl::StatusOr<RuntimeDir> Open(std::string path);

  const std::string& path() const { return path_; }
  std::string SessionSocket() const { return path_ + "/session.sock"; }
  std::string AdminSocket() const { return path_ + "/admin.sock"; }

  // The descriptor that the lock is held by. It belongs to this object.
  int lock() const { return lock_.get(); }

 private:
  RuntimeDir(std::string path, base::Fd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  base::Fd lock_;
};

// Returns the directory of dataset indexes: `configured` if not empty, else
// $STATE_DIRECTORY/index, else $XDG_CACHE_HOME/forebay/index, else
// ~/.cache/forebay/index. Returns an empty text if there is no home either.
std::string IndexDirectory(const std::string& configured);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_RUNTIME_DIR_H_
